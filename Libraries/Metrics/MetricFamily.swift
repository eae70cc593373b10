import EventLoop

/// The handles of one metric by the values of its dimensions, for values that are known only at run time:
/// `requests["/v1/apps/{app}", "200"].increment()`. Finding a handle takes a lock and a lookup, about 100 ns.
public final class MetricFamily<Metric: Sendable>: Sendable {
    private let dimensions: [String]
    private let make: @Sendable ([(String, String)]) -> Metric
    private let handles = Locked<[[String]: Metric]>([:])

    private init(dimensions: [String], make: @escaping @Sendable ([(String, String)]) -> Metric) {
        self.dimensions = dimensions
        self.make = make
    }

    /// The handle for the values, one per dimension in the order of the dimensions. Values must come from closed sets.
    public subscript(values: String...) -> Metric { handle(values) }

    /// The handle for the values, one per dimension in the order of the dimensions. Values come from closed sets.
    public func handle(_ values: [String]) -> Metric {
        precondition(values.count == dimensions.count, "a metric needs a value for each of its dimensions")
        return handles.withLock { handles in
            if let handle = handles[values] { return handle }
            let handle = make(Array(zip(dimensions, values)))
            // Beyond the limit all handles are of the same series, so they needn't be kept.
            if handles.count <= MetricsRegistry.seriesLimit { handles[values] = handle }
            return handle
        }
    }
}

extension MetricFamily where Metric == Counter {
    /// A family of counters.
    /// - Parameters:
    ///   - label: `<service>_<what>_<unit>_total`.
    ///   - help: What is counted.
    ///   - dimensions: The names of the dimensions.
    ///   - registry: The registry that keeps them.
    public convenience init(label: String, help: String, dimensions: [String], registry: MetricsRegistry = .shared) {
        self.init(dimensions: dimensions) {
            Counter(label: label, help: help, dimensions: $0, registry: registry)
        }
    }
}

extension MetricFamily where Metric == Gauge {
    /// A family of gauges.
    /// - Parameters:
    ///   - label: `<service>_<what>_<unit>`.
    ///   - help: What is measured.
    ///   - dimensions: The names of the dimensions.
    ///   - registry: The registry that keeps them.
    public convenience init(label: String, help: String, dimensions: [String], registry: MetricsRegistry = .shared) {
        self.init(dimensions: dimensions) { Gauge(label: label, help: help, dimensions: $0, registry: registry) }
    }
}

extension MetricFamily where Metric == Timer {
    /// A family of timers.
    /// - Parameters:
    ///   - label: `<service>_<what>_seconds`.
    ///   - help: What is measured.
    ///   - dimensions: The names of the dimensions.
    ///   - buckets: Upper bounds in seconds, in ascending order.
    ///   - registry: The registry that keeps them.
    public convenience init(
        label: String, help: String, dimensions: [String], buckets: [Double] = Timer.defaultBuckets,
        registry: MetricsRegistry = .shared
    ) {
        self.init(dimensions: dimensions) {
            Timer(label: label, help: help, dimensions: $0, buckets: buckets, registry: registry)
        }
    }
}
