import Kafka
import Postgres
import Redis
import ServiceBootstrap

/// The keys of the engines, the same in every service that works on the store.
public enum EngineSettings {
    static let postgresURL = ConfigurationKey<String>.string(
        "postgres.url", isSecret: true, "The database, `postgres://user:password@host:port/database`.")
    static let postgresConnections = ConfigurationKey<Int>.int(
        "postgres.connections", default: 8, range: 1...200, "Connections to Postgres.")
    static let redisURL = ConfigurationKey<String>.string(
        "redis.url", isSecret: true, "Redis, `redis://[[user]:password@]host:port[/database]`.")
    static let kafkaBootstrap = ConfigurationKey<String>.string(
        "kafka.bootstrap", "Brokers to begin with, `host:port`, separated by commas.")
    static let kafkaEmbedded = ConfigurationKey<Bool>.bool(
        "kafka.embedded", default: false, "The broker is the embedded development one: in memory, without an admin API."
    )
    static let kafkaPool = ConfigurationKey<String>.string(
        "kafka.pool", default: "main", "The pool of topics: names are `partita.<pool>.<topic>`.")

    /// For a service that carries out calls of users; not among the keys that all have.
    public static let ruleHosts = ConfigurationKey<Int>.int(
        "functions.rule-hosts", default: 4, range: 2...64,
        "Processes that run the functions of data rules, at most; half of them for one app.")

    /// For gateways, which give the leases, and for those who look after what is left of them.
    public static let presenceTTL = ConfigurationKey<Duration>.duration(
        "presence.ttl", default: .seconds(30), range: .milliseconds(500)...(.seconds(3600)),
        "How long after the last sign of life a device counts as online; the same in gateways and trigger workers.")

    /// For a service without Redis.
    public static let keys: [ConfigurationKeyDescription] = [
        postgresURL.description, postgresConnections.description, kafkaBootstrap.description, kafkaEmbedded.description,
        kafkaPool.description,
    ]

    public static let keysWithRedis = keys + [redisURL.description]
}
