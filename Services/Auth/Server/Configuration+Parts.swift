import EventLoop
import Logging
import ServiceBootstrap

extension AttemptThrottle {
    init(store: ThrottleStore, configuration: Configuration) {
        self.init(
            store: store, freePerPair: configuration[AuthKeys.freeAttempts],
            freePerAddress: configuration[AuthKeys.freeAttemptsPerAddress],
            freePerAccount: configuration[AuthKeys.freeAttemptsPerAccount])
    }
}

extension CallBudget {
    init(store: ThrottleStore, configuration: Configuration) {
        self.init(
            store: store,
            anonymous: Rates(
                address: configuration[AuthKeys.anonymousPerAddress], app: configuration[AuthKeys.anonymousPerApp]),
            register: Rates(
                address: configuration[AuthKeys.registrationsPerAddress],
                app: configuration[AuthKeys.registrationsPerApp]),
            refresh: Rates(
                address: configuration[AuthKeys.refreshesPerAddress], app: configuration[AuthKeys.refreshesPerApp]),
            session: configuration[AuthKeys.refreshesPerSession])
    }
}

extension IssuerAddresses {
    init(_ configuration: Configuration) {
        self.init(
            google: configuration[AuthKeys.googleIssuer], apple: configuration[AuthKeys.appleIssuer],
            facebook: configuration[AuthKeys.facebookURL], facebookDialog: configuration[AuthKeys.facebookDialogURL])
    }
}

extension PasswordHasher {
    convenience init(configuration: Configuration, metrics: AuthMetrics) {
        self.init(
            threads: configuration[AuthKeys.passwordThreads],
            costs: PasswordCosts(
                operations: configuration[AuthKeys.passwordOperations],
                memoryBytes: configuration[AuthKeys.passwordMemory]),
            queueLimit: configuration[AuthKeys.passwordQueue], metrics: metrics)
    }
}

extension MailSender {
    /// By SMTP, into a folder, or not at all.
    ///
    /// - Throws: `ConfigurationError` when the mail server's URL is malformed.
    init(configuration: Configuration, on loop: EventLoop, logger: Logger) throws(ConfigurationError) {
        if let url = configuration[AuthKeys.smtpURL] {
            do {
                self = try .smtp(
                    url: url, authorities: configuration[AuthKeys.smtpAuthorities],
                    from: configuration[AuthKeys.mailFrom], on: loop)
            } catch {
                throw ConfigurationError(key: AuthKeys.smtpURL.description.name, error.message)
            }
        } else if let folder = configuration[AuthKeys.mailFolder] {
            self = .folder(folder, from: configuration[AuthKeys.mailFrom], logger: logger)
        } else {
            self = MailSender { _ in throw MailConfigurationError(message: "neither smtp.url nor mail.folder is set") }
        }
    }
}
