import Foundation
import HTTPServer
import Metrics

extension HTTPRouter {
    /// Adds the routes that every service has for monitoring:
    ///
    /// - `GET /health/live`: 200 as long as the process answers.
    /// - `GET /health/ready`: 200, or 503 (`notReady`) when a required component isn't ready; 200 with `degraded` when only another
    ///   one isn't. The body has each component:
    ///   `{"status":"notReady","components":{"kafka":{"status":"notReady","reason":"…"},"postgres":{"status":"ready"}}}`.
    /// - `GET /metrics`: all metrics in Prometheus' text format.
    mutating func addHealthRoutes(_ readiness: Readiness, _ registry: MetricsRegistry) {
        get("/health/live") { _ in .json(#"{"status":"alive"}"#) }
        get("/health/ready") { _ in
            let report = await readiness.report()
            return .json(try report.json(), status: report.isReady ? 200 : 503)
        }
        get("/metrics") { _ in
            HTTPResponse(
                headers: ["Content-Type": "text/plain; version=0.0.4; charset=utf-8"],
                body: Array(registry.prometheusText().utf8))
        }
    }
}

extension Readiness.Report {
    private struct Body: Encodable {
        struct Component: Encodable {
            let status: String
            let reason: String?
        }
        let status: String
        let components: [String: Component]
    }

    /// The report as JSON with sorted keys.
    package func json() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let components = components.map { name, status, _ -> (String, Body.Component) in
            switch status {
            case .ready: (name, Body.Component(status: "ready", reason: nil))
            case .notReady(let reason): (name, Body.Component(status: "notReady", reason: reason))
            }
        }
        let body = Body(
            status: isDegraded ? "degraded" : isReady ? "ready" : "notReady",
            components: Dictionary(components) { first, _ in first })
        return Array(try encoder.encode(body))
    }
}
