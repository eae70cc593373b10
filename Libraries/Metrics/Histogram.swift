/// Counts values by size, in buckets that are fixed when it is made. For durations use `Timer`.
public struct Histogram: Sendable {
    /// For sizes in bytes: powers of four from 256 B to 64 MiB.
    public static let byteBuckets: [Double] = [
        256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
    ]
    /// For numbers of things that are handled at once.
    public static let countBuckets: [Double] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000]

    private let storage: HistogramStorage

    /// Finds the histogram, or makes it.
    /// - Parameters:
    ///   - label: `<service>_<what>_<unit>`.
    ///   - help: What is measured; the text that was given first counts.
    ///   - dimensions: Names with their values. Values come from closed sets, never ids.
    ///   - buckets: Upper bounds, rising; those given first count.
    ///   - registry: Where it is kept.
    public init(
        label: String, help: String, dimensions: [(String, String)] = [], buckets: [Double],
        registry: MetricsRegistry = .shared
    ) {
        storage = registry.series(label, kind: .histogram, help: help, dimensions: dimensions) {
            HistogramStorage(bounds: buckets)
        }
    }

    /// Counts a value. Lock-free, from any thread.
    public func record(_ value: Double) { storage.record(value) }

    /// Counts a value. Lock-free, from any thread.
    public func record(_ value: Int) { storage.record(Double(value)) }

    /// How many values were counted so far.
    public var count: Int { storage.count }

    /// The sum of all values so far.
    public var sum: Double { storage.total }
}
