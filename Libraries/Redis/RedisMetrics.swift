import Metrics

/// What a client tells about itself.
struct RedisMetrics: Sendable {
    let connections = Gauge(label: "redis_connections", help: "Connections that are up")
    let connectionFailures = Counter(
        label: "redis_connection_failures_total",
        help: "Connections that ended other than by our closing them, and attempts that failed")
    let failures = Counter(
        label: "redis_command_failures_total", help: "Calls that failed for want of a connection or an answer")
}
