import Metrics

/// The metrics of change consumers.
enum ChangeStreamMetrics {
    /// Events read from Postgres because the topic did not deliver them.
    static let repaired = MetricFamily<Counter>(
        label: "event_stream_repaired_total", help: "Events that the topic did not deliver.", dimensions: ["group"])
    /// Partitions whose changes are deferred until older ones have been read from Postgres.
    static let behind = MetricFamily<Gauge>(
        label: "event_stream_behind_partitions", help: "Partitions of apps whose changes are read from Postgres.",
        dimensions: ["group"])
}
