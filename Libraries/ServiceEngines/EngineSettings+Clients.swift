public import Kafka
public import Postgres
public import Redis
public import ServiceBootstrap

/// The configured values in the form that the engines' clients take.
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

    /// - Throws: `ConfigurationError` that says what is wrong with the URL.
    public static func redis(_ configuration: Configuration) throws(ConfigurationError) -> RedisConfiguration {
        let key = redisURL.description.name
        var settings: RedisConfiguration
        do { settings = try RedisConfiguration(url: configuration[redisURL]) } catch {
            throw ConfigurationError(key: key, error.message)
        }
        if settings.password == nil { settings.password = configuration[redisPassword] }
        guard settings.username == nil || settings.password != nil else {
            throw ConfigurationError(
                key: key, "names a user: the password has to be in the URL, or in \(redisPassword.description.name)")
        }
        settings.setting = redisURL.description.environmentName
        return settings
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
