import Metrics

/// What the pool tells about itself.
struct PostgresMetrics: Sendable {
    /// How long callers waited for a connection, those included that got one at once.
    let poolWait = Timer(label: "postgres_pool_wait_seconds")
    /// Connections that are up.
    let connections = Gauge(label: "postgres_pool_connections")
    /// Callers that got no connection in time, or found too many others waiting.
    let refused = Counter(label: "postgres_pool_refused_total")
    /// Connections that ended other than by our closing them, and attempts that failed.
    let connectionFailures = Counter(label: "postgres_connection_failures_total")
}
