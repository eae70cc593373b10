import EventLoop
import HTTPServer
import Logging
import Metrics

/// The parts with which a service is made.
public struct ServiceContext: Sendable {
    /// The service's name, such as `sync-gateway`.
    public let name: String
    /// The checked values of the service's keys.
    public let configuration: Configuration
    /// The values of the keys that every service has.
    public let settings: ServiceSettings
    /// A logger with the service's name as its label.
    public let logger: Logger
    /// The loops to spread connections over; the HTTP server's connections are on them too.
    public let loops: LoopGroup
    /// The registry of the service's metrics.
    public let registry: MetricsRegistry
    /// The components that the service needs: the answer of `/health/ready`.
    public let readiness: Readiness
    /// Ends the process at once, without a shutdown, so that its supervisor starts it again. For when nothing that it has in memory is valid
    /// any more. The parameter is the reason, for people.
    public let startAgain: @Sendable (String) -> Void
    /// The service's routes. `/health/…` and `/metrics` are already added.
    public var router: HTTPRouter
    /// How the HTTP server behaves; address and port are set from the configuration.
    public var http: HTTPServerConfiguration
}
