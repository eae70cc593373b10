import Metrics

/// What the pool tells about itself.
struct PostgresMetrics: Sendable {
    let poolWait = Timer(
        label: "postgres_pool_wait_seconds",
        help: "How long callers waited for a connection, those included that got one at once")
    let connections = Gauge(label: "postgres_pool_connections", help: "Connections that are up")
    let refused = Counter(
        label: "postgres_pool_refused_total",
        help: "Callers that got no connection in time, or found too many others waiting")
    let connectionFailures = Counter(
        label: "postgres_connection_failures_total",
        help: "Connections that ended other than by our closing them, and attempts that failed")

    /// By what is to be done about them.
    static let failures = Dictionary(
        uniqueKeysWithValues: PostgresFailureClass.allCases.map { kind in
            (
                kind,
                Counter(
                    label: "postgres_errors_total",
                    help:
                        "Statements that the server refused, by what helps: again, later, refused (what was asked), broken (a person)",
                    dimensions: [("class", kind.rawValue)])
            )
        })
}
