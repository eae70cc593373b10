import EventLoop

/// All metrics of a process. Handles (`Counter`, `Gauge`, `Histogram`, `Timer`) register themselves here when they are
/// made; the same label and dimensions always lead to the same values.
///
/// Making a handle takes a lock and a look-up: keep it. Recording through it takes neither.
public final class MetricsRegistry: Sendable {
    /// The registry of the process.
    public static let shared = MetricsRegistry()

    /// How many combinations of dimension values one metric may have. What goes beyond is recorded under one series
    /// with the value `_overflow` in every dimension: a mistake in the code can't eat the memory of the monitoring.
    public static let seriesLimit = 1000

    private let families = Locked<[String: MetricFamilyStorage]>([:])

    /// Creates an empty registry, for tests.
    public init() {}

    /// Everything in Prometheus' text format (`text/plain; version=0.0.4`), in the order of names.
    public func prometheusText() -> String {
        let all = families.withLock { Array($0.values) }.sorted { $0.label < $1.label }
        var text = ""
        for family in all { family.append(to: &text) }
        return text
    }

    /// Finds the series of a metric, or makes it.
    ///
    /// A label that isn't a Prometheus name, or that is registered already as another kind or with other dimensions,
    /// is a mistake in the code and stops the process.
    func series<Storage: MetricStorage>(
        _ label: String, kind: MetricKind, help: String, dimensions: [(String, String)],
        make: () -> Storage
    ) -> Storage {
        let names = dimensions.map(\.0)
        let family = families.withLock { families -> MetricFamilyStorage in
            if let family = families[label] { return family }
            MetricName.check(label, kind: kind, dimensions: names)
            let family = MetricFamilyStorage(label: label, kind: kind, help: help, dimensions: names)
            families[label] = family
            return family
        }
        precondition(
            family.kind == kind && family.dimensions == names,
            "metric \(label) is registered as another kind or with other dimensions")
        guard let storage = family.storage(dimensions.map(\.1), make: make) as? Storage else {
            preconditionFailure("metric \(label) is registered as another type")
        }
        return storage
    }
}
