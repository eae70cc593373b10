import Metrics

/// The metrics of the pool.
struct PostgresMetrics: Sendable {
    let poolWait = Timer(
        label: "postgres_pool_wait_seconds",
        help: "How long callers waited for a connection, including those that got one at once")
    let connections = Gauge(label: "postgres_pool_connections", help: "Open connections")
    let refused = Counter(
        label: "postgres_pool_refused_total",
        help: "Callers that got no connection in time, or found too many others waiting")
    let connectionFailures = Counter(
        label: "postgres_connection_failures_total",
        help: "Connections that ended without being closed by the client, and attempts that failed")

    /// Failed statements by their ``PostgresFailureClass``.
    static let failures = Dictionary(
        uniqueKeysWithValues: PostgresFailureClass.allCases.map { kind in
            (
                kind,
                Counter(
                    label: "postgres_errors_total",
                    help:
                        "Statements that the server refused, by class: again, later, refused (the request), broken (needs repair)",
                    dimensions: [("class", kind.rawValue)])
            )
        })
}
