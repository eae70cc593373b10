public import Functions
public import HTTPClient
import Kafka
import Postgres
import Redis
public import Secrets
public import ServiceBootstrap

/// The configuration keys of the engines, which are the same in every service.
public enum EngineSettings {
    static let postgresURL = ConfigurationKey<String>.connection(
        "postgres.url", schemes: ["postgres", "postgresql"],
        "The database, `postgres://user:password@host:port/database`, with libpq's parameters: `?sslmode=verify-full&sslrootcert=FILE`.",
        problem: { url in
            PostgresConfiguration.problem(withURL: url)
                ?? (try? PostgresConfiguration.files(inURL: url))?.lazy.compactMap(UnreadableFile.problem).first
        })
    static let postgresPassword = ConfigurationKey<String>.string(
        "postgres.password", isSecret: true, "The password, where the URL has none."
    ).optional
    static let postgresConnections = ConfigurationKey<Int>.int(
        "postgres.connections", default: 8, range: 2...200, "Connections to Postgres.")
    static let redisURL = ConfigurationKey<String>.connection(
        "redis.url", schemes: ["redis", "rediss", "unix"],
        "Redis, `redis://[[user][:password]@]host:port[/database]`; `rediss://` speaks TLS."
    ) { url in
        do throws(RedisError) {
            return try RedisConfiguration(url: url).files.lazy.compactMap(UnreadableFile.problem).first
        } catch {
            return "can't be used: \(error.message)"
        }
    }
    static let redisPassword = ConfigurationKey<String>.string(
        "redis.password", isSecret: true, "The password, where the URL has none."
    ).optional
    static let kafkaBootstrap = ConfigurationKey<String>.string(
        "kafka.bootstrap", "The bootstrap brokers, `host:port`, separated by commas."
    ) { text in
        let isRight = text.split(separator: ",", omittingEmptySubsequences: false).allSatisfy { broker in
            guard let colon = broker.lastIndex(of: ":"), colon != broker.startIndex, !broker.contains("/") else {
                return false
            }
            return (1...65_535).contains(Int(broker[broker.index(after: colon)...]) ?? 0)
        }
        return isRight ? nil : "must be host:port, without a scheme; several are separated by commas"
    }
    static let kafkaEmbedded = ConfigurationKey<Bool>.bool(
        "kafka.embedded", default: false, "The broker is the embedded development one: in memory, without an admin API."
    )
    static let kafkaPool = ConfigurationKey<String>.string(
        "kafka.pool", default: "main", "The pool of topics: their names are `partita.<pool>.<topic>`."
    ) { pool in
        pool.wholeMatch(of: /[A-Za-z0-9._-]{1,100}/) == nil
            ? "must have 1 to 100 letters, digits, dots, hyphens and underscores" : nil
    }
    static let kafkaReplication = ConfigurationKey<Int>.int(
        "kafka.replication", range: 1...16, "The replication factor of new topics. By default, the broker's."
    ).optional
    static let kafkaTLS = ConfigurationKey<Bool>.bool(
        "kafka.tls", default: false, "Connections to the brokers are TLS, and their certificates must name their hosts."
    )
    static let kafkaAuthorities = ConfigurationKey<String>.file(
        "kafka.tls-ca",
        "A PEM file with the authorities for checking the brokers' certificates. By default, the system's."
    ).optional
    static let kafkaCertificate = ConfigurationKey<String>.file(
        "kafka.tls-certificate", "A PEM file with the client's own certificate, for brokers that require one."
    ).optional
    static let kafkaKey = ConfigurationKey<String>.file(
        "kafka.tls-key", "A PEM file with the private key of the client's certificate."
    ).optional
    static let kafkaKeyPassword = ConfigurationKey<String>.string(
        "kafka.tls-key-password", isSecret: true, "The password of the file of kafka.tls-key."
    ).optional
    static let kafkaMechanism = ConfigurationKey<KafkaSecurity.Mechanism>.choice(
        "kafka.sasl-mechanism",
        "Signs in to the brokers with SASL. PLAIN sends the password unencrypted: use it with kafka.tls only. SCRAM with Kafka 4 needs librdkafka 2.6.1."
    ).optional
    static let kafkaUsername = ConfigurationKey<String>.string("kafka.sasl-username", "The SASL user name.").optional
    static let kafkaPassword = ConfigurationKey<String>.string(
        "kafka.sasl-password", isSecret: true, "The SASL password."
    ).optional

    /// For a service that carries out users' calls. Not part of `keys`.
    public static let ruleHosts = ConfigurationKey<Int>.int(
        "functions.rule-hosts", default: 4, range: 2...64,
        "The maximum number of processes that run the functions of data rules; one app gets at most half of them.")

    static let encryptionKeys = ConfigurationKey<[String]>.secrets(
        "encryption.keys", minimumBytes: 16,
        "The secrets with which signing keys and apps' secrets in Postgres are encrypted: the current one, then former ones that are still needed, separated by commas."
    )
    static let formerKeySecret = ConfigurationKey<String>.string(
        "auth.keySecret", isSecret: true, "Former name of encryption.keys; counts as their last one."
    ).optional

    /// For a service that runs functions, checks tokens with apps' secrets, or signs.
    public static let secretKeys: [ConfigurationKeyDescription] = [
        encryptionKeys.description, formerKeySecret.description,
    ]

    static let functionAccount = ConfigurationKey<String>.string(
        "functions.account", default: HostConfinement.usualAccount,
        "The account that functions run as when the service runs as root; otherwise they run as the service's account.")
    static let functionFilter = ConfigurationKey<Bool>.bool(
        "functions.filter-calls", default: true,
        "Limits functions' processes to the system calls they need (seccomp); off only where it can't work.")

    /// The number of calls in flight in each pool of hosts.
    public static let functionCalls = ConfigurationKey<Int>.int(
        "functions.calls", default: 1024, range: 8...65536,
        "Maximum number of function calls in flight; an app's may be half, and one user's of an app a third. More wait."
    )

    /// For a service that runs functions.
    public static let functionKeys: [ConfigurationKeyDescription] = [
        functionCalls.description, functionAccount.description, functionFilter.description,
    ]

    static let egressAllow = ConfigurationKey<[String]>.list(
        "egress.allow", default: [],
        "The destinations besides the public internet that apps' own requests (context.http, key sets of issuers) may reach: addresses, ranges (10.0.0.0/8), names (reports.internal, *.internal), each optionally with a port."
    )

    /// For a service that requests URLs configured by apps.
    public static let egressKeys: [ConfigurationKeyDescription] = [egressAllow.description]

    /// For gateways, which create the leases, and for trigger workers, which clean up expired ones.
    public static let presenceTTL = ConfigurationKey<Duration>.duration(
        "presence.ttl", default: .seconds(30), range: .milliseconds(500)...(.seconds(3600)),
        "How long a device counts as online after its last sign of life; same in gateways and trigger workers.")

    /// For a service that gives clients addresses of the system.
    public static let publicURL = ConfigurationKey<String>.url(
        "public.url", schemes: ["http", "https"], isBase: true,
        "The base URL of HTTP that clients are given; by default the request's own."
    ).optional

    static let hostingURL = ConfigurationKey<String>.url(
        "hosting.url", schemes: ["http", "https"], isBase: true,
        "Where apps' hosted files are served: `https://apps.example.com` serves those of the app shop at https://shop.apps.example.com. Without it they aren't."
    ).optional

    /// For a service without Redis.
    public static let keys: [ConfigurationKeyDescription] = [
        postgresURL.description, postgresPassword.description, postgresConnections.description,
        kafkaBootstrap.description, kafkaEmbedded.description, kafkaPool.description, kafkaReplication.description,
        kafkaTLS.description, kafkaAuthorities.description, kafkaCertificate.description, kafkaKey.description,
        kafkaKeyPassword.description, kafkaMechanism.description, kafkaUsername.description, kafkaPassword.description,
        hostingURL.description,
    ]

    public static let keysWithRedis = keys + [redisURL.description, redisPassword.description]
}

extension FunctionHostPool.Configuration {
    /// A pool whose hosts are confined as configured by `EngineSettings.functionKeys`.
    /// - Throws: `ConfigurationError` when the account doesn't exist or is root.
    public init(hosts: Int, _ configuration: Configuration) throws(ConfigurationError) {
        do {
            self.init(
                hosts: hosts, calls: configuration[EngineSettings.functionCalls],
                confinement: try HostConfinement(
                    accountName: configuration[EngineSettings.functionAccount],
                    filtersCalls: configuration[EngineSettings.functionFilter]))
        } catch {
            throw ConfigurationError(key: EngineSettings.functionAccount.description.name, error.description)
        }
    }
}

extension EgressPolicy {
    /// The destinations that apps' requests may reach, as configured by `EngineSettings.egressKeys`.
    /// - Throws: `ConfigurationError` when an entry is malformed.
    public init(_ configuration: Configuration) throws(ConfigurationError) {
        do {
            try self.init(allowing: configuration[EngineSettings.egressAllow])
        } catch {
            throw ConfigurationError(key: EngineSettings.egressAllow.description.name, error.description)
        }
    }
}

extension KeyRing {
    /// The keys that are configured by `EngineSettings.secretKeys`.
    public init(_ configuration: Configuration) {
        let former = configuration[EngineSettings.formerKeySecret].map { [$0] } ?? []
        self.init(configuration[EngineSettings.encryptionKeys] + former)
    }
}
