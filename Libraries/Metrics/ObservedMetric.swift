import EventLoop

/// A metric that is read only when metrics are requested, for values that are kept elsewhere anyway.
public enum ObservedMetric {
    /// Registers a gauge that is read by a closure. Registering the same label and dimensions again replaces the closure.
    /// - Parameters:
    ///   - label: `<service>_<what>_<unit>`.
    ///   - help: What is measured.
    ///   - dimensions: The names and values of dimensions. Values must come from closed sets, never be ids.
    ///   - registry: The registry that keeps it.
    ///   - read: Called on the thread that collects; must not block.
    public static func gauge(
        label: String, help: String, dimensions: [(String, String)] = [], registry: MetricsRegistry = .shared,
        read: @escaping @Sendable () -> Double
    ) {
        registry.series(label, kind: .gauge, help: help, dimensions: dimensions) { Storage() }.replace(read)
    }

    /// Registers a counter that is read by a closure, whose result must never decrease.
    /// - Parameters:
    ///   - label: `<service>_<what>_<unit>_total`.
    ///   - help: What is counted.
    ///   - dimensions: The names and values of dimensions. Values must come from closed sets, never be ids.
    ///   - registry: The registry that keeps it.
    ///   - read: Called on the thread that collects; must not block.
    public static func counter(
        label: String, help: String, dimensions: [(String, String)] = [], registry: MetricsRegistry = .shared,
        read: @escaping @Sendable () -> Double
    ) {
        registry.series(label, kind: .counter, help: help, dimensions: dimensions) { Storage() }.replace(read)
    }

    private final class Storage: MetricStorage {
        private let read = Locked<(@Sendable () -> Double)?>(nil)

        func replace(_ closure: @escaping @Sendable () -> Double) { read.withLock { $0 = closure } }

        func append(name: String, labels: String, to text: inout String) {
            guard let read = read.withLock({ $0 }) else { return }
            appendSample(name, labels, sampleText(read()), to: &text)
        }
    }
}
