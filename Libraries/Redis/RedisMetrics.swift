import Metrics

/// The metrics of a client.
struct RedisMetrics: Sendable {
    let connections = Gauge(label: "redis_connections", help: "Open connections")
    let connectionFailures = Counter(
        label: "redis_connection_failures_total",
        help: "Connections that ended without being closed by the client, and attempts that failed")
    let failures = Counter(
        label: "redis_command_failures_total", help: "Calls that failed for lack of a connection or an answer")
}
