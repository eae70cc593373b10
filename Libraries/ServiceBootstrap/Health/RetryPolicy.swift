/// How long to wait between attempts: longer each time, up to a limit, and by chance, so that many processes that lost the
/// same engine don't come back at the same moment.
public struct RetryPolicy: Sendable, Equatable {
    /// The wait after the first failure (default: 100 ms).
    public var initial: Duration
    /// The longest wait (default: 5 s).
    public var maximum: Duration
    /// What each wait is multiplied with for the next (default: 2).
    public var multiplier: Double

    /// Makes a policy.
    public init(initial: Duration = .milliseconds(100), maximum: Duration = .seconds(5), multiplier: Double = 2) {
        precondition(initial > .zero && maximum >= initial && multiplier >= 1, "waits must not become shorter")
        self.initial = initial
        self.maximum = maximum
        self.multiplier = multiplier
    }

    /// The wait after a failure: between a half and the whole of what the number of failures amounts to.
    /// - Parameter failures: How many attempts have failed in a row, from 1 on.
    public func delay(after failures: Int) -> Duration {
        var generator = SystemRandomNumberGenerator()
        return delay(after: failures, using: &generator)
    }

    func delay(after failures: Int, using generator: inout some RandomNumberGenerator) -> Duration {
        var whole = initial
        var steps = failures - 1
        while steps > 0, whole < maximum, multiplier > 1 {
            whole = whole * multiplier
            steps -= 1
        }
        return min(whole, maximum) * Double.random(in: 0.5...1, using: &generator)
    }
}
