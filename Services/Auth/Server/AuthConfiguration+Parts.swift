import Logging
import Redis

extension AttemptThrottle {
    init(redis: RedisClient, configuration: AuthConfiguration, metrics: AuthMetrics, logger: Logger) {
        self.init(redis: redis, prefix: configuration.redisPrefix, metrics: metrics, logger: logger)
        account.free = configuration.freeAttempts
        address.free = configuration.freeAttemptsPerAddress
    }
}

extension AccountService.TokenLifetimes {
    init(_ configuration: AuthConfiguration) {
        self.init(
            access: Int64(configuration.accessTokenSeconds), refresh: Int64(configuration.refreshTokenSeconds),
            rotationLeeway: Int64(configuration.rotationLeewaySeconds), mail: Int64(configuration.mailTokenSeconds))
    }
}

extension MailSender {
    /// By SMTP, into a folder, or not at all.
    init(configuration: AuthConfiguration, logger: Logger) throws {
        if let folder = configuration.mailFolder {
            self = .folder(folder, from: configuration.mailFrom, logger: logger)
        } else {
            self = MailSender { _ in throw AuthError(.serviceUnavailable, "no mail server is configured") }
        }
    }
}
