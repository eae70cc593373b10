/// A histogram of durations, in seconds.
public struct Timer: Sendable {
    /// From half a millisecond to ten seconds, upper bounds in seconds.
    public static let defaultBuckets: [Double] = [
        0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
    ]

    private let storage: HistogramStorage

    /// Finds the timer, or creates it.
    /// - Parameters:
    ///   - label: `<service>_<what>_seconds`.
    ///   - help: What is measured; the first text that was given is used.
    ///   - dimensions: The names and values of dimensions. Values must come from closed sets, never be ids.
    ///   - buckets: Upper bounds in seconds, in ascending order; the first ones that were given are used.
    ///   - registry: The registry that keeps it.
    public init(
        label: String, help: String, dimensions: [(String, String)] = [], buckets: [Double] = Timer.defaultBuckets,
        registry: MetricsRegistry = .shared
    ) {
        storage = registry.series(label, kind: .histogram, help: help, dimensions: dimensions) {
            HistogramStorage(bounds: buckets)
        }
    }

    /// Counts a duration. Lock-free, from any thread.
    public func record(_ duration: Duration) {
        // Converts the two words separately, because `Double(Int128)` and the division in `components` cost more than all the rest.
        let attoseconds = duration.attoseconds
        let low = Double(UInt64(truncatingIfNeeded: attoseconds))
        storage.record((Double(Int64(truncatingIfNeeded: attoseconds >> 64)) * 0x1p64 + low) * 1e-18)
    }

    /// Runs the body and records its duration, also when it throws.
    public func measure<Result>(_ body: () throws -> Result) rethrows -> Result {
        let start = ContinuousClock.now
        defer { record(ContinuousClock.now - start) }
        return try body()
    }

    /// Runs the body and records its duration, including waits, also when it throws.
    public func measure<Result>(
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Result
    ) async rethrows -> Result {
        let start = ContinuousClock.now
        defer { record(ContinuousClock.now - start) }
        return try await body()
    }

    /// The number of durations counted so far.
    public var count: Int { storage.count }

    /// The sum of all durations so far, in seconds.
    public var sum: Double { storage.total }
}
