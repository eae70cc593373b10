/// How long a device waits before it tries again: doubling, with jitter, so that devices don't reconnect all at once.
public struct Backoff: Sendable {
    /// The upper bound of the first wait.
    public var base: Duration
    /// The upper bound of every wait.
    public var limit: Duration
    /// How many attempts have failed since the last success.
    public private(set) var failures = 0
    private var generator: SeededGenerator

    /// - Parameter seed: The seed of the jitter.
    public init(base: Duration = .milliseconds(500), limit: Duration = .seconds(60), seed: UInt64) {
        self.base = base
        self.limit = limit
        generator = SeededGenerator(seed: seed)
    }

    /// Counts a failure and returns how long to wait: at least a quarter of the step, to avoid a busy loop.
    public mutating func fail() -> Duration {
        let step = min(base * (1 << min(failures, 20)), limit)
        failures += 1
        return step * Double.random(in: 0.25...1, using: &generator)
    }

    /// Resets the number of failures.
    public mutating func succeed() { failures = 0 }
}
