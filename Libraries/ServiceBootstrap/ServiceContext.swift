import EventLoop
import HTTPServer
import Logging
import Metrics

/// What a service is made with.
public struct ServiceContext: Sendable {
    /// The service's name, such as `sync-gateway`.
    public let name: String
    /// The values of the service's keys, checked.
    public let configuration: Configuration
    /// The values of the keys that every service has.
    public let settings: ServiceSettings
    /// A logger with the service's name as its label.
    public let logger: Logger
    /// The loops to spread connections over; the HTTP server's connections are on them too.
    public let loops: LoopGroup
    /// Where the service's metrics are kept.
    public let registry: MetricsRegistry
    /// What the service needs: the answer of `/health/ready`.
    public let readiness: Readiness
    /// The service's routes. `/health/…` and `/metrics` are there already.
    public var router: HTTPRouter
    /// How the HTTP server behaves; address and port are set from the configuration.
    public var http: HTTPServerConfiguration
}
