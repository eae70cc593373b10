import Foundation
import HTTPServer
import Logging

/// The keys that every service has.
public struct ServiceSettings: Sendable {
    static let logLevel = ConfigurationKey<Logger.Level>.choice(
        "log.level", default: .info, "The lowest level that is logged.")
    static let logFormat = ConfigurationKey<LogFormat>.choice(
        "log.format", default: .json, "The format of log lines on standard output: JSON, or text for people.")
    static let address = ConfigurationKey<String>.string(
        "http.address", default: "0.0.0.0", "The address to listen on: IPv4, or IPv6.")
    static let trustedProxies = ConfigurationKey<TrustedProxies>(
        "http.trusted-proxies", type: "list", defaultValue: TrustedProxies.none, defaultText: "\"\"",
        range: "addresses, ranges such as 10.0.0.0/8, loopback, private, and a number of proxies, 1-16",
        """
        The proxies whose X-Forwarded-For and X-Forwarded-Proto are trusted; those of others are ignored. A number says \
        how many of them a request passes at most; a number alone trusts every peer, so that only a proxy may reach the port.
        """,
        parse: { (text: String) throws(InvalidText) in
            guard let proxies = TrustedProxies(text) else {
                throw InvalidText(
                    "must be a list of addresses, ranges such as 10.0.0.0/8, loopback, private, and at most one number, 1-16"
                )
            }
            return proxies
        })
    static let loops = ConfigurationKey<Int>.int(
        "loops", default: min(ProcessInfo.processInfo.activeProcessorCount, 64), range: 1...64,
        "Event loops, each a thread with its own connections. By default one per processor.")
    static let shutdownTimeout = ConfigurationKey<Duration>.duration(
        "shutdown.timeout", default: .seconds(25), range: .seconds(1)...(.seconds(3600)),
        "The time to finish work in flight after SIGTERM or SIGINT; then it is cancelled.")

    static let crashes = ConfigurationKey<Int>.int(
        "process.crashes", default: 0, range: 0...Int.max,
        "How often the service was killed by a signal and started again. The supervisor (`partita run`, `partita up`) sets it."
    )

    static func port(default port: Int) -> ConfigurationKey<Int> {
        .int("http.port", default: port, range: 0...65_535, "The port to listen on; 0 takes a free one.")
    }

    /// The lowest level that is logged.
    public let logLevel: Logger.Level
    /// The format of log lines.
    public let logFormat: LogFormat
    /// The address to listen on.
    public let address: String
    /// The port to listen on.
    public let port: Int
    /// The proxies that are trusted to report where requests come from.
    public let trustedProxies: TrustedProxies
    /// The number of event loops.
    public let loops: Int
    /// The time limit of the graceful shutdown.
    public let shutdownTimeout: Duration
    /// How often its supervisor restarted it after a crash.
    public let crashes: Int

    init(_ configuration: Configuration, defaultPort: Int) {
        logLevel = configuration[Self.logLevel]
        logFormat = configuration[Self.logFormat]
        address = configuration[Self.address]
        port = configuration[Self.port(default: defaultPort)]
        trustedProxies = configuration[Self.trustedProxies]
        loops = configuration[Self.loops]
        shutdownTimeout = configuration[Self.shutdownTimeout]
        crashes = configuration[Self.crashes]
    }

    /// The keys that every service has, for a service with this default port.
    public static func keys(defaultPort: Int) -> [ConfigurationKeyDescription] {
        [
            port(default: defaultPort).description, address.description, logLevel.description, logFormat.description,
            trustedProxies.description, loops.description, shutdownTimeout.description, crashes.description,
        ]
    }
}
