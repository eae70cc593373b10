/// The wait before the next attempt: exponential back-off up to a limit, with up to half of the wait randomly subtracted, so that
/// clients that failed together don't retry together.
public struct RetrySchedule: Hashable, Sendable {
    /// The longest wait after the first failure.
    public var first: Duration
    /// The longest wait after any failure.
    public var limit: Duration

    /// The schedule for a connection to an engine on the same network, which may come back at any time.
    public static let reconnecting = RetrySchedule(limit: .seconds(2))

    /// Creates a schedule.
    public init(first: Duration = .milliseconds(50), limit: Duration = .seconds(30)) {
        self.first = first
        self.limit = limit
    }

    /// The wait after this many failures (1 and up).
    public func delay(after failures: Int, using generator: inout some RandomNumberGenerator) -> Duration {
        let doublings = min(max(failures - 1, 0), 30)
        let longest = min(first * (1 << doublings), limit)
        return longest * Double.random(in: 0.5...1, using: &generator)
    }

    /// The wait after this many failures (1 and up).
    public func delay(after failures: Int) -> Duration {
        var generator = SystemRandomNumberGenerator()
        return delay(after: failures, using: &generator)
    }
}
