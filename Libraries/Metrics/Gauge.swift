import Synchronization

/// A value that goes up and down.
public struct Gauge: Sendable {
    private let storage: Storage

    /// Finds the gauge, or creates it with the value 0.
    /// - Parameters:
    ///   - label: `<service>_<what>_<unit>`.
    ///   - help: What is measured; the first text that was given is used.
    ///   - dimensions: The names and values of dimensions. Values must come from closed sets, never be ids.
    ///   - registry: The registry that keeps it.
    public init(
        label: String, help: String, dimensions: [(String, String)] = [], registry: MetricsRegistry = .shared
    ) {
        storage = registry.series(label, kind: .gauge, help: help, dimensions: dimensions) { Storage() }
    }

    /// Sets the value. Lock-free, from any thread.
    public func set(_ value: Double) { storage.bits.store(value.bitPattern, ordering: .relaxed) }

    /// Sets the value. Lock-free, from any thread.
    public func set(_ value: Int) { set(Double(value)) }

    /// Sets the value in seconds. Lock-free, from any thread.
    public func set(_ value: Duration) { set(value / .seconds(1)) }

    /// Adds to the value. Lock-free, from any thread.
    public func increment(by amount: Double = 1) { storage.bits.add(amount) }

    /// Subtracts from the value. Lock-free, from any thread.
    public func decrement(by amount: Double = 1) { storage.bits.add(-amount) }

    /// The current value.
    public var value: Double { Double(bitPattern: storage.bits.load(ordering: .relaxed)) }

    private final class Storage: MetricStorage {
        let bits = Atomic<UInt64>(0)

        func append(name: String, labels: String, to text: inout String) {
            appendSample(name, labels, sampleText(Double(bitPattern: bits.load(ordering: .relaxed))), to: &text)
        }
    }
}

extension Atomic where Value == UInt64 {
    /// Adds to the floating-point number that has these bits.
    func add(_ amount: Double) {
        var old = load(ordering: .relaxed)
        while true {
            let new = (Double(bitPattern: old) + amount).bitPattern
            let (exchanged, original) = weakCompareExchange(expected: old, desired: new, ordering: .relaxed)
            if exchanged { return }
            old = original
        }
    }
}
