public import Kafka
public import Postgres
public import Redis
public import ServiceBootstrap

/// The configured values in the form that the engines' clients take.
extension EngineSettings {
    /// - Parameter name: shown in `pg_stat_activity`.
    /// - Throws: `ConfigurationError` when there are two passwords.
    public static func postgres(_ configuration: Configuration, as name: String) throws(ConfigurationError)
        -> PostgresConfiguration
    {
        let url = configuration[postgresURL]
        var settings = PostgresConfiguration(url: url)
        settings.password = configuration[postgresPassword]
        try checkPassword(postgresPassword, configuration, urlHasOne: PostgresConfiguration.hasPassword(inURL: url))
        settings.connections = configuration[postgresConnections]
        settings.applicationName = name
        settings.setting = names(postgresURL, settings.password == nil ? nil : postgresPassword)
        return settings
    }

    /// - Throws: `ConfigurationError` that says what is wrong with the URL.
    public static func redis(_ configuration: Configuration) throws(ConfigurationError) -> RedisConfiguration {
        let key = redisURL.description.name
        var settings: RedisConfiguration
        do { settings = try RedisConfiguration(url: configuration[redisURL]) } catch {
            throw ConfigurationError(key: key, error.message)
        }
        try checkPassword(redisPassword, configuration, urlHasOne: settings.password != nil)
        let hasOwn = configuration[redisPassword] != nil
        if hasOwn { settings.password = configuration[redisPassword] }
        guard settings.username == nil || settings.password != nil else {
            throw ConfigurationError(
                key: key, "names a user: the password has to be in the URL, or in \(redisPassword.description.name)")
        }
        settings.setting = names(redisURL, hasOwn ? redisPassword : nil)
        return settings
    }

    /// Refuses a password beside that of the URL: one of them would be ignored, after it was changed for instance.
    private static func checkPassword(
        _ key: ConfigurationKey<String?>, _ configuration: Configuration, urlHasOne: Bool
    ) throws(ConfigurationError) {
        guard urlHasOne, configuration[key] != nil else { return }
        throw ConfigurationError(
            key: key.description.name, "is set, and the URL has a password, too: remove one of them")
    }

    /// The settings that a connection comes from, for the log.
    private static func names(_ url: ConfigurationKey<String>, _ password: ConfigurationKey<String?>?) -> String {
        ([url.description] + [password?.description].compactMap { $0 }).map(\.environmentName).joined(separator: ", ")
    }

    /// - Parameter name: the client id, which the brokers use in logs and for quotas.
    /// - Throws: `ConfigurationError` when the values of keys contradict each other.
    public static func kafka(_ configuration: Configuration, as name: String) throws(ConfigurationError)
        -> KafkaConfiguration
    {
        var settings = KafkaConfiguration(
            bootstrapServers: configuration[kafkaBootstrap], clientID: name, embedded: configuration[kafkaEmbedded])
        settings.setting = kafkaBootstrap.description.environmentName
        settings.security.usesTLS = configuration[kafkaTLS]
        settings.security.authorities = configuration[kafkaAuthorities]
        settings.security.certificate = configuration[kafkaCertificate]
        settings.security.key = configuration[kafkaKey]
        settings.security.keyPassword = configuration[kafkaKeyPassword]
        let tls = [kafkaAuthorities, kafkaCertificate, kafkaKey].compactMap { configuration[$0] }
        guard settings.security.usesTLS || tls.isEmpty else {
            throw ConfigurationError(
                key: "kafka.tls",
                "must be true when kafka.tls-ca, kafka.tls-certificate or kafka.tls-key is set")
        }
        guard let mechanism = configuration[kafkaMechanism] else {
            guard configuration[kafkaUsername] == nil, configuration[kafkaPassword] == nil else {
                throw ConfigurationError(
                    key: "kafka.sasl-mechanism", "must be set where kafka.sasl-username or kafka.sasl-password is")
            }
            return settings
        }
        guard let username = configuration[kafkaUsername], let password = configuration[kafkaPassword] else {
            throw ConfigurationError(
                key: "kafka.sasl-mechanism", "needs kafka.sasl-username and kafka.sasl-password")
        }
        settings.security.credentials = .init(mechanism: mechanism, username: username, password: password)
        return settings
    }

    /// The name of the pool of topics.
    public static func pool(_ configuration: Configuration) -> String { configuration[kafkaPool] }

    /// The replication factor of new topics; `nil` is the broker's default.
    public static func replication(_ configuration: Configuration) -> Int? { configuration[kafkaReplication] }
}
