/// What auth can be told. `Run` reads it from file and environment; the names there are the ones here.
public struct AuthConfiguration: Sendable {
    /// - `postgresURL` (string, required): Where accounts are, `postgres://…`.
    public var postgresURL: String
    /// - `postgresConnections` (int, optional, default: 4, range: 1-100): Connections to Postgres.
    public var postgresConnections = 4
    /// - `redisURL` (string, required): Where attempts are counted, `redis://…`.
    public var redisURL: String
    /// - `redisPrefix` (string, optional, default: "partita:auth:"): What auth's keys in Redis begin with.
    public var redisPrefix = "partita:auth:"
    /// - `kafkaBootstrap` (string, required): `host:port` of the brokers, separated by commas.
    public var kafkaBootstrap: String
    /// - `kafkaEmbedded` (bool, optional, default: false): The broker is the embedded development one.
    public var kafkaEmbedded = false
    /// - `pool` (string, optional, default: "main"): The pool of apps whose topics are used.
    public var pool = "main"
    /// - `address` (string, optional, default: "0.0.0.0"): The address to listen on.
    public var address = "0.0.0.0"
    /// - `port` (int, optional, default: 7001, range: 0-65535): The port to listen on; 0 takes a free one.
    public var port = 7001
    /// - `publicURL` (string, optional, default: from the request's Host): The base URL that clients are told for HTTP.
    public var publicURL: String?
    /// - `syncURL` (string, optional, default: from `publicURL`): The base URL that clients are told for sync, `ws://…` or `wss://…`.
    public var syncURL: String?
    /// - `trustedProxy` (bool, optional, default: false): A proxy in front sets `X-Forwarded-For`; its last entry is the caller.
    public var trustedProxy = false
    /// - `adminToken` (secret, optional): Guards the admin API; without one that API is off.
    public var adminToken: String?
    /// - `keySecret` (secret, optional): Encrypts the signing keys in Postgres; without one they are stored plainly.
    public var keySecret: String?
    /// - `accessTokenSeconds` (int, optional, default: 1800, range: 10-86400): How long an access token lives.
    public var accessTokenSeconds = 1800
    /// - `refreshTokenSeconds` (int, optional, default: 5184000, range: 60-31536000): How long a refresh token lives.
    public var refreshTokenSeconds = 60 * 86_400
    /// - `rotationLeewaySeconds` (int, optional, default: 30, range: 0-600): How long a refresh token that was superseded still works.
    public var rotationLeewaySeconds = 30
    /// - `mailTokenSeconds` (int, optional, default: 1800, range: 60-604800): How long a link in a mail works.
    public var mailTokenSeconds = 1800
    /// - `mailFolder` (string, optional): Mails are written to this folder and their links to the log: for development.
    public var mailFolder: String?
    /// - `mailFrom` (string, optional, default: "Partita <no-reply@localhost>"): The sender of mails.
    public var mailFrom = "Partita <no-reply@localhost>"
    /// - `smtpURL` (string, optional): The mail server, `smtp://user:password@host:port` or `smtps://…`; wins over `mailFolder`.
    public var smtpURL: String?
    /// - `passwordThreads` (int, optional, default: 2, range: 1-64): Threads that hash passwords.
    public var passwordThreads = 2
    /// - `passwordOperations` (int, optional, default: 2, range: 1-10): argon2id's passes.
    public var passwordOperations = 2
    /// - `passwordMemory` (int, optional, default: 19922944, range: 8192-1073741824): argon2id's memory, in bytes.
    public var passwordMemory = 19 << 20
    /// - `freeAttempts` (int, optional, default: 5, range: 1-1000): Failed attempts per account before they are slowed down.
    public var freeAttempts = 5
    /// - `freeAttemptsPerAddress` (int, optional, default: 200, range: 1-1000000): The same per address.
    public var freeAttemptsPerAddress = 200
    /// - `appPollMs` (int, optional, default: 2000, range: 50-60000): How late a deployment is noticed without its announcement.
    public var appPollMs = 2000

    public init(postgresURL: String, redisURL: String, kafkaBootstrap: String) {
        self.postgresURL = postgresURL
        self.redisURL = redisURL
        self.kafkaBootstrap = kafkaBootstrap
    }
}
