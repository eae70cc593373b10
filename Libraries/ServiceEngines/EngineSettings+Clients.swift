public import Kafka
public import Postgres
public import Redis
public import ServiceBootstrap

/// What the keys say, as the engines' clients take it.
extension EngineSettings {
    /// - Parameter name: shown in `pg_stat_activity`.
    public static func postgres(_ configuration: Configuration, as name: String) -> PostgresConfiguration {
        var settings = PostgresConfiguration(url: configuration[postgresURL])
        settings.password = configuration[postgresPassword]
        settings.connections = configuration[postgresConnections]
        settings.applicationName = name
        settings.setting = postgresURL.description.environmentName
        return settings
    }

    /// - Throws: `RedisError` that says what is wrong with the URL.
    public static func redis(_ configuration: Configuration) throws(RedisError) -> RedisConfiguration {
        var settings = try RedisConfiguration(url: configuration[redisURL])
        if settings.password == nil { settings.password = configuration[redisPassword] }
        settings.setting = redisURL.description.environmentName
        return settings
    }

    /// - Parameter name: in the brokers' logs and quotas.
    /// - Throws: `ConfigurationError` when keys don't go together.
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
                "must be true for kafka.tls-ca, kafka.tls-certificate and kafka.tls-key to have a meaning")
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

    /// The pool of topics.
    public static func pool(_ configuration: Configuration) -> String { configuration[kafkaPool] }

    /// Copies of each topic; `nil` is the broker's default.
    public static func replication(_ configuration: Configuration) -> Int? { configuration[kafkaReplication] }
}
