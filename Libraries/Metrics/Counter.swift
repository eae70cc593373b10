import Synchronization

/// Counts events since the process started. Its label ends in `_total`.
public struct Counter: Sendable {
    private let storage: Storage

    /// Finds the counter, or creates it.
    /// - Parameters:
    ///   - label: `<service>_<what>_<unit>_total`.
    ///   - help: What is counted; the first text that was given is used.
    ///   - dimensions: The names and values of dimensions. Values must come from closed sets (a route template, a code), never be
    ///     ids.
    ///   - registry: The registry that keeps it.
    public init(
        label: String, help: String, dimensions: [(String, String)] = [], registry: MetricsRegistry = .shared
    ) {
        storage = registry.series(label, kind: .counter, help: help, dimensions: dimensions) { Storage() }
    }

    /// Adds to the count. Lock-free, from any thread.
    /// - Parameter amount: Not negative.
    public func increment(by amount: Int = 1) {
        assert(amount >= 0, "a counter only grows")
        storage.count.wrappingAdd(amount, ordering: .relaxed)
    }

    /// The count so far.
    public var value: Int { storage.count.load(ordering: .relaxed) }

    private final class Storage: MetricStorage {
        let count = Atomic<Int>(0)

        func append(name: String, labels: String, to text: inout String) {
            appendSample(name, labels, String(count.load(ordering: .relaxed)), to: &text)
        }
    }
}
