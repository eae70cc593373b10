import EventLoop
import Logging

extension AttemptThrottle {
    init(store: ThrottleStore, configuration: AuthConfiguration) {
        self.init(store: store)
        pair.free = configuration.freeAttempts
        address.free = configuration.freeAttemptsPerAddress
        account.free = configuration.freeAttemptsPerAccount
    }
}

extension CallBudget {
    init(store: ThrottleStore, configuration: AuthConfiguration) {
        self.init(
            store: store,
            anonymous: Rates(address: configuration.anonymousPerAddress, app: configuration.anonymousPerApp),
            register: Rates(address: configuration.registrationsPerAddress, app: configuration.registrationsPerApp),
            refresh: Rates(address: configuration.refreshesPerAddress, app: configuration.refreshesPerApp),
            session: configuration.refreshesPerSession)
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
