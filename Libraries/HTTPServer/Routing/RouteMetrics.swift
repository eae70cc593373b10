import EventLoop
import Metrics

/// The metrics of one route and method. Their handles are looked up once.
///
/// - `http_server_request_seconds` {method, route}: from the complete request until the response is ready.
/// - `http_server_requests_total` {method, route, status}.
/// - `http_server_requests_in_progress` {method, route}: requests whose handler has started but not ended.
final class RouteMetrics: Sendable {
    private let method: String
    private let route: String
    private let registry: MetricsRegistry
    let inProgress: Gauge
    private let timer: Timer
    private let counters = Locked<[Int: Counter]>([:])

    init(method: String, route: String, registry: MetricsRegistry) {
        self.method = method
        self.route = route
        self.registry = registry
        timer = Timer(
            label: "http_server_request_seconds", help: "Time until the response was ready",
            dimensions: [("method", method), ("route", route)], registry: registry)
        inProgress = Gauge(
            label: "http_server_requests_in_progress", help: "Requests whose handler has begun and not ended",
            dimensions: [("method", method), ("route", route)], registry: registry)
    }

    func record(status: Int, duration: Duration) {
        timer.record(duration)
        counter(for: status).increment()
    }

    private func counter(for status: Int) -> Counter {
        counters.withLock { counters in
            if let counter = counters[status] { return counter }
            let counter = Counter(
                label: "http_server_requests_total", help: "Requests answered",
                dimensions: [("method", method), ("route", route), ("status", String(status))], registry: registry)
            counters[status] = counter
            return counter
        }
    }
}
