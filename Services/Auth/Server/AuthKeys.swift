import HTTPClient
public import ServiceBootstrap
import ServiceEngines

/// The keys that auth is configured with, besides those of every service and those of the engines.
public enum AuthKeys {
    static let redisPrefix = ConfigurationKey<String>.string(
        "auth.redisPrefix", default: "partita:auth:", "What auth's keys in Redis begin with.")
    static let syncURL = ConfigurationKey<String>.url(
        "sync.url", schemes: ["ws", "wss"], isBase: true,
        "The base URL of sync that clients are given; by default that for HTTP."
    ).optional
    static let adminToken = ConfigurationKey<String>.string(
        "admin.token", isSecret: true,
        "A token of the administration API with the role users, for all apps; `partita admin-tokens create` makes others.",
        problem: { token in
            if token.isEmpty { return nil }
            if AdminTokens.isStored(token) {
                return
                    "must not be a token that `partita admin-tokens create` made, since its revocation wouldn't count;"
                    + " if it is set for the tool's calls, unset it for the service"
            }
            if token.utf8.contains(where: { $0 <= 0x20 }) { return "must not have spaces or control characters" }
            return token.utf8.count < 16 ? "must have at least 16 bytes" : nil
        }
    ).optional
    static let adminAPI = ConfigurationKey<Bool>.bool(
        "admin.api", default: true, "Serves the administration API; without it, only the tool on Postgres administers.")
    static let auditRetention = ConfigurationKey<Duration>.duration(
        "audit.retention", default: .seconds(400 * 86_400), range: .seconds(86_400)...(.seconds(3660 * 86_400)),
        "How long records of the audit log are kept.")
    static let accessTokenLifetime = ConfigurationKey<Duration>.duration(
        "auth.accessTokenLifetime", default: .seconds(1800), range: .seconds(10)...ShutOut.longestToken,
        "How long an access token is good for.")
    static let refreshTokenLifetime = ConfigurationKey<Duration>.duration(
        "auth.refreshTokenLifetime", default: .seconds(60 * 86_400), range: .seconds(60)...(.seconds(366 * 86_400)),
        "How long a refresh token is valid; each exchange starts the time again.")
    static let rotationLeeway = ConfigurationKey<Duration>.duration(
        "auth.rotationLeeway", default: .seconds(30), range: .zero...(.seconds(600)),
        "For how long a refresh token still works after its successor was used.")
    static let mailTokenLifetime = ConfigurationKey<Duration>.duration(
        "auth.mailTokenLifetime", default: .seconds(1800), range: .seconds(60)...(.seconds(7 * 86_400)),
        "How long a link in a mail works.")
    static let idleAccounts = ConfigurationKey<Duration>.duration(
        "auth.idleAccounts", default: .seconds(90 * 86_400), range: .zero...(.seconds(3660 * 86_400)),
        "After which time an anonymous account that isn't used, and a registration that isn't confirmed, is deleted; 0s: never."
    )
    static let smtpURL = ConfigurationKey<String>.url(
        "smtp.url", schemes: ["smtp", "smtps"],
        "The mail server, `smtp://[user:password@]host[:port]`, TLS from STARTTLS on (smtps: from the first byte; smtp with `?starttls=off`: never)."
    ).optional
    static let smtpAuthorities = ConfigurationKey<String>.file(
        "smtp.tls-ca",
        "A PEM file with the authorities for checking the mail server's certificate. By default, the system's."
    ).optional
    static let mailFolder = ConfigurationKey<String>.string(
        "mail.folder", "Without smtp.url, mails are written to this folder and their links to the log: for development."
    ).optional
    static let mailFrom = ConfigurationKey<String>.string(
        "mail.from", default: "no-reply@localhost", "The address that mails come from, without a name.",
        problem: { MailMessage.isAddress($0) ? nil : "must be an address such as no-reply@example.com, without a name" }
    )
    static let passwordThreads = ConfigurationKey<Int>.int(
        "auth.passwordThreads", default: 2, range: 1...64, "Threads that hash passwords.")
    static let passwordOperations = ConfigurationKey<Int>.int(
        "auth.passwordOperations", default: 2, range: 1...10, "argon2id's passes.")
    static let passwordMemory = ConfigurationKey<Int>.bytes(
        "auth.passwordMemory", default: 19 << 20, range: (8 << 10)...(1 << 30), "argon2id's memory.")
    static let passwordQueue = ConfigurationKey<Int>.int(
        "auth.passwordQueue", default: 500, range: 5...100_000,
        "Passwords that may wait for a thread: an app has half of the places at most, an address a fifth.")
    static let freeAttempts = ConfigurationKey<Int>.int(
        "auth.freeAttempts", default: 5, range: 1...1000,
        "Failed attempts for an account from one address, or from a device it knows, before they are slowed down.")
    static let freeAttemptsPerAddress = ConfigurationKey<Int>.int(
        "auth.freeAttemptsPerAddress", default: 200, range: 1...1_000_000,
        "The same for an address, whatever the account.")
    static let freeAttemptsPerAccount = ConfigurationKey<Int>.int(
        "auth.freeAttemptsPerAccount", default: 100, range: 1...1_000_000,
        "The same for an account from all addresses together; devices that it knows aren't touched.")
    static let anonymousPerAddress = perMinute(
        "auth.anonymousPerAddress", 120,
        "Anonymous sign-ins of an address to an app, and sign-ins by redirects that it begins")
    static let anonymousPerApp = perMinute("auth.anonymousPerApp", 6000, "Anonymous sign-ins to an app")
    static let registrationsPerAddress = perMinute(
        "auth.registrationsPerAddress", 120, "Registrations of an address with an app")
    static let registrationsPerApp = perMinute("auth.registrationsPerApp", 3000, "Registrations with an app")
    static let refreshesPerAddress = perMinute("auth.refreshesPerAddress", 3000, "Refreshes of an address for an app")
    static let refreshesPerApp = perMinute("auth.refreshesPerApp", 60_000, "Refreshes for an app")
    static let refreshesPerSession = perMinute("auth.refreshesPerSession", 60, "Refreshes of a session")
    static let allowsPlainKeySets = ConfigurationKey<Bool>.bool(
        "auth.allowPlainKeySets", default: false,
        "Requests keys, metadata and tokens of issuers by http too: for development, since keys can be replaced in transit."
    )
    static let googleIssuer = ConfigurationKey<String>.url(
        "auth.googleIssuer", schemes: ["http", "https"], isBase: true, default: "https://accounts.google.com",
        "The issuer of the ID tokens of oauth2-google.")
    static let appleIssuer = ConfigurationKey<String>.url(
        "auth.appleIssuer", schemes: ["http", "https"], isBase: true, default: "https://appleid.apple.com",
        "The issuer of the ID tokens of oauth2-apple.")
    static let facebookURL = ConfigurationKey<String>.url(
        "auth.facebookURL", schemes: ["http", "https"], isBase: true, default: "https://graph.facebook.com",
        "The base URL of the Graph API, which checks the access tokens of oauth2-facebook.")
    static let facebookDialogURL = ConfigurationKey<String>.url(
        "auth.facebookDialogURL", schemes: ["http", "https"], default: "https://www.facebook.com/dialog/oauth",
        "The page on which users sign in at Facebook.")
    static let functionHosts = ConfigurationKey<Int>.int(
        "functions.hosts", default: 2, range: 2...64,
        "Processes that run apps' functions, at most; half of them for one app.")

    private static func perMinute(_ name: String, _ rate: Int, _ what: String) -> ConfigurationKey<Int> {
        .int(name, default: rate, range: 1...10_000_000, "\(what), per minute; beyond them 429.")
    }

    /// All of them.
    public static let all: [ConfigurationKeyDescription] = [
        redisPrefix.description, EngineSettings.publicURL.description, syncURL.description,
        adminToken.description, adminAPI.description, auditRetention.description, accessTokenLifetime.description,
        refreshTokenLifetime.description, rotationLeeway.description, mailTokenLifetime.description,
        idleAccounts.description,
        smtpURL.description, smtpAuthorities.description,
        mailFolder.description, mailFrom.description, passwordThreads.description, passwordOperations.description,
        passwordMemory.description, passwordQueue.description, freeAttempts.description,
        freeAttemptsPerAddress.description, freeAttemptsPerAccount.description, anonymousPerAddress.description,
        anonymousPerApp.description, registrationsPerAddress.description, registrationsPerApp.description,
        refreshesPerAddress.description, refreshesPerApp.description, refreshesPerSession.description,
        allowsPlainKeySets.description, googleIssuer.description, appleIssuer.description, facebookURL.description,
        facebookDialogURL.description, functionHosts.description,
    ]
}
