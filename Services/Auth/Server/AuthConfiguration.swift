/// What auth can be told besides where its engines are, as the keys of `AuthKeys` document it.
public struct AuthConfiguration: Sendable {
    public var redisPrefix = "partita:auth:"
    public var publicURL: String?
    public var syncURL: String?
    public var adminToken: String?
    public var accessTokenLifetime = Duration.seconds(1800)
    public var refreshTokenLifetime = Duration.seconds(60 * 86_400)
    public var rotationLeeway = Duration.seconds(30)
    public var mailTokenLifetime = Duration.seconds(1800)
    public var mailFolder: String?
    public var mailFrom = "no-reply@localhost"
    public var smtpURL: String?
    public var passwordThreads = 2
    public var passwordOperations = 2
    public var passwordMemory = 19 << 20
    public var freeAttempts = 5
    public var freeAttemptsPerAddress = 200
    public var allowsPlainKeySets = false
    public var freeAttemptsPerAccount = 100
    public var passwordQueue = 500
    public var anonymousPerAddress = 120
    public var anonymousPerApp = 6000
    public var registrationsPerAddress = 120
    public var registrationsPerApp = 3000
    public var refreshesPerAddress = 3000
    public var refreshesPerApp = 60_000
    public var refreshesPerSession = 60
    public var functionHosts = 1

    /// The defaults.
    public init() {}
}

extension Duration {
    /// Whole seconds, the rest cut off.
    var wholeSeconds: Int64 { components.seconds }
}
