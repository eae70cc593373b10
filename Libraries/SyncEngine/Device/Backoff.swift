/// How long a device waits before it tries again: doubling, with full jitter, so that devices don't come back together.
public struct Backoff: Sendable {
    /// The longest first wait.
    public var base: Duration
    /// The longest wait at all.
    public var limit: Duration
    /// How many attempts have failed since the last success.
    public private(set) var failures = 0
    private var generator: SeededGenerator

    /// - Parameter seed: Where the jitter's numbers start.
    public init(base: Duration = .milliseconds(500), limit: Duration = .seconds(60), seed: UInt64) {
        self.base = base
        self.limit = limit
        generator = SeededGenerator(seed: seed)
    }

    /// Counts a failure and says how long to wait: at least a quarter of the step, so that it is never a busy loop.
    public mutating func fail() -> Duration {
        let step = min(base * (1 << min(failures, 20)), limit)
        failures += 1
        return step * Double.random(in: 0.25...1, using: &generator)
    }

    /// Forgets the failures.
    public mutating func succeed() { failures = 0 }
}
