import EventLoop

/// All metrics of a process. Handles (`Counter`, `Gauge`, `Histogram`, `Timer`) register themselves here when they are created;
/// handles with the same label and dimensions share their values.
///
/// Creating a handle takes a lock and a lookup, so keep it. Recording through it takes neither.
public final class MetricsRegistry: Sendable {
    /// The registry of the process.
    public static let shared = MetricsRegistry()

    /// The maximum number of combinations of dimension values per metric. Further ones are recorded in one series with the value
    /// `_overflow` in every dimension, so that an error in the code can't exhaust the monitoring system's memory.
    public static let seriesLimit = 1000

    private let families = Locked<[String: MetricFamilyStorage]>([:])

    /// Creates an empty registry, for tests.
    public init() {}

    /// All metrics in Prometheus' text format (`text/plain; version=0.0.4`), sorted by name.
    public func prometheusText() -> String {
        let all = families.withLock { Array($0.values) }.sorted { $0.label < $1.label }
        var text = ""
        for family in all { family.append(to: &text) }
        return text
    }

    /// Finds the series of a metric, or creates it.
    ///
    /// A label that isn't a Prometheus name, or that is already registered with another kind or other dimensions, is a programming
    /// error and stops the process.
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
