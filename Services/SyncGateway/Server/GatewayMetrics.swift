import Metrics

/// The gateway's metrics.
enum GatewayMetrics {
    static let connections = Gauge(label: "sync_gateway_connections", help: "Devices that are connected.")
    static let refusals = MetricFamily<Counter>(
        label: "sync_gateway_refusals_total", help: "Error frames sent to devices, by code.", dimensions: ["code"])
    static let uploadSeconds = Timer(
        label: "sync_gateway_upload_commit_seconds", help: "Time from a changeset's frame to its commit.")
    static let feedChanges = Counter(
        label: "sync_gateway_feed_changes_total",
        help: "Changes that the topic brought of partitions that a device here has open, without this gateway's own.")
    static let holdings = MetricFamily<Counter>(
        label: "sync_gateway_holdings_compared_total",
        help: "Devices that asked whether they hold what the server has, by the answer: same, different, unknown.",
        dimensions: ["answer"])
    static let missedHeads = Counter(
        label: "sync_gateway_missed_heads_total",
        help: "Partitions whose newest change didn't come by the topic, and was read from Postgres.")
    static let untrimmed = Counter(
        label: "sync_gateway_realm_untrimmed_total",
        help: "Times that the history of a partition for Realm clients couldn't be trimmed.")
}
