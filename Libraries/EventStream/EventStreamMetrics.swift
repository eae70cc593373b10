import Metrics

/// The metrics of event streams. Their dimensions, topics and groups, are closed sets.
enum EventStreamMetrics {
    /// Messages in the brokers that a consumer has not finished.
    static let lag = MetricFamily<Gauge>(
        label: "kafka_consumer_lag_records", help: "Messages beyond the last one finished.",
        dimensions: ["topic", "group"])
    /// Events that a consumer finished, dead letters among them.
    static let handled = MetricFamily<Counter>(
        label: "event_stream_handled_total", help: "Events finished.", dimensions: ["topic", "group"])
    /// Failed attempts that are repeated.
    static let retries = MetricFamily<Counter>(
        label: "event_stream_retries_total", help: "Failed attempts that are repeated.",
        dimensions: ["topic", "group"])
    /// Dead-lettered events.
    static let deadLetters = MetricFamily<Counter>(
        label: "event_stream_dead_letters_total", help: "Dead-lettered events.", dimensions: ["topic", "group"])
    /// Messages received by any kind of reader. A topic appears as soon as it is read.
    static let read = MetricFamily<Counter>(
        label: "event_stream_read_total", help: "Messages received from the broker.", dimensions: ["topic"])
    /// Events sent and acknowledged.
    static let produced = MetricFamily<Counter>(
        label: "event_stream_produced_total", help: "Events acknowledged by the broker.", dimensions: ["topic"])
}
