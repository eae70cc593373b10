import Logging

/// How a process reaches its brokers.
public struct KafkaConfiguration: Sendable {
    /// - `bootstrapServers` (string, required): `host:port` of one or more brokers, separated by commas.
    public var bootstrapServers: String
    /// - `clientID` (string, optional, default: "partita"): The client's name in the brokers' logs and quotas.
    public var clientID: String
    /// - `embedded` (bool, optional, default: false): The broker is librdkafka's mock cluster, which has no admin API and creates
    ///   topics on their first use.
    public var embedded: Bool
    /// - `security` (optional, default: none): TLS, and the credentials with which the client signs in.
    public var security = KafkaSecurity()
    /// - `setting` (string, optional, default: none): The name of the setting with the brokers' addresses; included in librdkafka's
    ///   log lines.
    public var setting: String?
    /// - `properties` (map, optional, default: none): librdkafka properties that override all settings here (`debug`, …). With an
    ///   unknown name, the client fails to start.
    public var properties: [String: String]

    /// Creates a configuration, without connecting to a broker.
    public init(
        bootstrapServers: String, clientID: String = "partita", embedded: Bool = false,
        properties: [String: String] = [:]
    ) {
        self.bootstrapServers = bootstrapServers
        self.clientID = clientID
        self.embedded = embedded
        self.properties = properties
    }

    /// A logger for librdkafka's log lines.
    func logger(_ logger: Logger) -> Logger {
        var logger = logger
        if let setting { logger[metadataKey: "setting"] = "\(setting)" }
        return logger
    }

    /// The librdkafka properties of every kind of client; `specific` overrides them, and `properties` overrides both.
    func settings(_ specific: [String: String]) -> [String: String] {
        var settings = [
            "bootstrap.servers": bootstrapServers,
            "client.id": clientID,
            "socket.nagle.disable": "true",
            "socket.keepalive.enable": "true",
            // A broker that restarts is back in seconds; with the defaults, a client might reconnect only ten seconds later.
            "reconnect.backoff.ms": "50",
            "reconnect.backoff.max.ms": "1000",
            "topic.metadata.refresh.fast.interval.ms": "100",
            // How long a topic may be unknown before this counts as an error.
            "topic.metadata.propagation.max.ms": "3000",
            "allow.auto.create.topics": embedded ? "true" : "false",
            // Otherwise every idle connection that the broker closes is an error in the log.
            "log.connection.close": "false",
        ]
        settings.merge(security.properties) { _, new in new }
        settings.merge(specific) { _, new in new }
        settings.merge(properties) { _, new in new }
        return settings
    }
}
