import Metrics

/// What consumers of changes measure of themselves.
enum ChangeStreamMetrics {
    /// Events read from Postgres because the topic did not bring them.
    static let repaired = MetricFamily<Counter>(
        label: "event_stream_repaired_total", help: "Events that the topic did not bring.", dimensions: ["group"])
    /// Partitions whose changes go by until older ones have been read from Postgres.
    static let behind = MetricFamily<Gauge>(
        label: "event_stream_behind_partitions", help: "Partitions of apps whose changes are read from Postgres.",
        dimensions: ["group"])
}
