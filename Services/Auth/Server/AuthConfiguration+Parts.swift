import EventLoop
import Logging
import Redis

extension AttemptThrottle {
    init(redis: RedisClient?, configuration: AuthConfiguration, metrics: AuthMetrics, logger: Logger) {
        self.init(redis: redis, prefix: configuration.redisPrefix, metrics: metrics, logger: logger)
        account.free = configuration.freeAttempts
        address.free = configuration.freeAttemptsPerAddress
    }
}

extension AccountService.TokenLifetimes {
    init(_ configuration: AuthConfiguration) {
        self.init(
            access: configuration.accessTokenLifetime.wholeSeconds,
            refresh: configuration.refreshTokenLifetime.wholeSeconds,
            rotationLeeway: configuration.rotationLeeway.wholeSeconds,
            mail: configuration.mailTokenLifetime.wholeSeconds)
    }
}

extension MailSender {
    /// By SMTP, into a folder, or not at all.
    ///
    /// - Throws: `HTTPClientError` when the mail server's URL is malformed.
    init(configuration: AuthConfiguration, on loop: EventLoop, logger: Logger) throws {
        if let url = configuration.smtpURL {
            self = try .smtp(url: url, from: configuration.mailFrom, on: loop)
        } else if let folder = configuration.mailFolder {
            self = .folder(folder, from: configuration.mailFrom, logger: logger)
        } else {
            self = MailSender { _ in throw MailConfigurationError(message: "neither smtp.url nor mail.folder is set") }
        }
    }
}
