import Metrics

/// The metrics of the relay.
struct RelayMetrics: Sendable {
    let published = Counter(
        label: "outbox_published_changes_total", help: "Changes that the broker has acknowledged.")
    let failures = Counter(
        label: "outbox_failures_total", help: "Rounds of the relay that failed and were tried again.")
    let shards = Gauge(label: "outbox_led_shards", help: "Shards that this process publishes.")
}
