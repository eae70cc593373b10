/// How a client's connections to the brokers are protected, and how it signs in.
public struct KafkaSecurity: Sendable {
    /// The SASL mechanism, which determines how a password is sent to a broker.
    public enum Mechanism: String, CaseIterable, Sendable {
        /// Sends the password unencrypted: use it over TLS only.
        case plain = "PLAIN"
        // SCRAM works with Apache Kafka 4 and newer only if librdkafka is 2.6.1 or newer.
        case scramSHA256 = "SCRAM-SHA-256"
        case scramSHA512 = "SCRAM-SHA-512"
    }

    /// The SASL mechanism, user name and password.
    public struct Credentials: Sendable {
        public var mechanism: Mechanism
        public var username: String
        public var password: String

        public init(mechanism: Mechanism, username: String, password: String) {
            self.mechanism = mechanism
            self.username = username
            self.password = password
        }
    }

    /// - `usesTLS` (bool, optional, default: false): Connections are TLS, and a broker's certificate must name its host.
    public var usesTLS = false
    /// - `authorities` (string, optional, default: the system's): A PEM file with the trusted authorities.
    public var authorities: String?
    /// - `certificate`, `key` (string, optional): PEM files with the client's own certificate and its key.
    public var certificate: String?
    public var key: String?
    /// - `keyPassword` (string, optional): The password of `key`.
    public var keyPassword: String?
    /// - `credentials` (optional): Signs in with SASL.
    public var credentials: Credentials?

    public init() {}

    /// The settings as librdkafka properties.
    var properties: [String: String] {
        var properties = ["security.protocol": (credentials == nil ? "" : "sasl_") + (usesTLS ? "ssl" : "plaintext")]
        if usesTLS {
            properties["ssl.endpoint.identification.algorithm"] = "https"
            properties["ssl.ca.location"] = authorities
            properties["ssl.certificate.location"] = certificate
            properties["ssl.key.location"] = key
            properties["ssl.key.password"] = keyPassword
        }
        if let credentials {
            properties["sasl.mechanisms"] = credentials.mechanism.rawValue
            properties["sasl.username"] = credentials.username
            properties["sasl.password"] = credentials.password
        }
        return properties
    }
}
