/// Counts values by size, in buckets that are fixed when it is created. For durations use `Timer`.
public struct Histogram: Sendable {

    private let storage: HistogramStorage

    /// Finds the histogram, or creates it.
    /// - Parameters:
    ///   - label: `<service>_<what>_<unit>`.
    ///   - help: What is measured; the first text that was given is used.
    ///   - dimensions: The names and values of dimensions. Values must come from closed sets, never be ids.
    ///   - buckets: Upper bounds in ascending order; the first ones that were given are used.
    ///   - registry: The registry that keeps it.
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

    /// The number of values counted so far.
    public var count: Int { storage.count }

    /// The sum of all values so far.
    public var sum: Double { storage.total }
}
