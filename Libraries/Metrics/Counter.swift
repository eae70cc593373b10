import Synchronization

/// Counts what happened since the process started. Its label ends in `_total`.
public struct Counter: Sendable {
    private let storage: Storage

    /// Finds the counter, or makes it.
    /// - Parameters:
    ///   - label: `<service>_<what>_<unit>_total`.
    ///   - help: What is counted; the text that was given first counts.
    ///   - dimensions: Names with their values. Values come from closed sets (a route template, a code), never ids.
    ///   - registry: Where it is kept.
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
