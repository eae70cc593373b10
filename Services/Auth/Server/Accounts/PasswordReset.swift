import AppDefinition
import AppRegistry
import DocumentModel

/// New passwords for accounts whose owner forgot theirs.
struct PasswordReset: Sendable {
    let accounts: Accounts
    let ends: SessionEnds
    let links: EmailLinks
    let hasher: PasswordHasher
    let throttle: AttemptThrottle

    /// Sends a mail with a link.
    func send(email: String, app: DeployedApp, origin: CallOrigin) async throws {
        let settings = EmailPasswordSettings(try app.provider(Registration.provider))
        guard settings.reset == .mail else { throw AuthError(.badRequest, "the app doesn't reset passwords by mail") }
        try await throttle.attempt(
            .mail, app: app.id, subject: email, caller: .init(address: origin.address))
        try await requireAccount(email, app: app)
        try await sendLink(settings, email: email, app: app)
    }

    /// Lets the owner of an account that has no password choose one: by a mail, where the app resets passwords by mail.
    ///
    /// - Returns: what the client is told.
    func offer(email: String, app: DeployedApp, origin: CallOrigin) async throws -> String {
        let settings = EmailPasswordSettings(try app.provider(Registration.provider))
        guard settings.reset == .mail else {
            return "this account came without its password: it needs a new one, by the app's reset function"
        }
        do {
            try await throttle.attempt(.mail, app: app.id, subject: email, caller: .init(address: origin.address))
        } catch let error as AuthError where error.code == .tooManyRequests {
            return "this account came without its password: mails with a link to choose one have been sent"
        }
        try await sendLink(settings, email: email, app: app)
        return "this account came without its password: a mail with a link to choose one has been sent"
    }

    private func sendLink(_ settings: EmailPasswordSettings, email: String, app: DeployedApp) async throws {
        let link = try await links.make(.reset, page: settings.resetURL, email: email, app: app)
        try await links.send(
            Mail(
                to: email, subject: settings.resetSubject,
                body: """
                    Somebody, hopefully you, asked for a new password for \(app.definition.name). Open this page within \
                    \(links.lifetime / 60) minutes to choose one:

                    \(link.url)

                    If it wasn't you, nothing needs to be done.
                    """,
                link: link.url))
    }

    /// Sets a new password with the token of a mail, or of a reset function. Every session of the account ends, and its API keys are
    /// disabled.
    func reset(
        password: String, token: String, tokenId: String, app: DeployedApp, origin: CallOrigin
    ) async throws {
        _ = try app.provider(Registration.provider)
        try Registration.check(password: password)
        let digest = Sodium.digest(token)
        // Asked before the password is hashed, which costs; taken after it, in the transaction that sets the password.
        guard
            try await accounts.tables.hasEmailToken(
                .reset, id: tokenId, secretHash: digest, of: app.id, now: accounts.clock.now())
        else { throw Self.invalidToken }
        let hash = try await hasher.hash(password, for: PasswordCaller(app: app.id, origin: origin))
        let email = try await accounts.transaction { tables in
            let email = try await tables.takeEmailToken(
                .reset, id: tokenId, secretHash: digest, of: app.id, now: accounts.clock.now())
            guard let email else { throw Self.invalidToken }
            try await set(hash, email: email, app: app, in: tables)
            return email
        }
        try await throttle.forgive(.signIn, app: app.id, subject: email)
    }

    private static let invalidToken = AuthError(.userpassTokenInvalid, "invalid token data")

    /// Lets the app's function decide whether the password becomes the account's.
    func call(email: String, password: String, arguments: [Value], app: DeployedApp, origin: CallOrigin) async throws {
        let settings = EmailPasswordSettings(try app.provider(Registration.provider))
        guard case .function(let name) = settings.reset else {
            throw AuthError(.badRequest, "the app doesn't reset passwords by a function")
        }
        try Registration.check(password: password)
        try await throttle.attempt(
            .accountFunction, app: app.id, subject: email, caller: .init(address: origin.address))
        try await requireAccount(email, app: app)
        let link = try await links.make(.reset, page: "", email: email, app: app)
        let first: Document = [
            "token": .string(link.token), "tokenId": .string(link.tokenId), "username": .string(email),
            "password": .string(password),
        ]
        switch try await links.status(of: name, app: app, arguments: [.document(first)] + arguments) {
        case .success:
            let hash = try await hasher.hash(password, for: PasswordCaller(app: app.id, origin: origin))
            try await accounts.transaction { tables in try await set(hash, email: email, app: app, in: tables) }
            try await throttle.forgive(.signIn, app: app.id, subject: email)
        case .pending: return
        case .fail(let failure): throw failure ?? AuthError(.badRequest, "failed to reset password")
        }
    }

    private func requireAccount(_ email: String, app: DeployedApp) async throws {
        guard try await accounts.tables.identity(Registration.provider, email, of: app.id) != nil else {
            throw AuthError(.userNotFound, "user not found")
        }
    }

    private func set(_ hash: String, email: String, app: DeployedApp, in tables: AccountTables) async throws {
        guard let identity = try await tables.identity(Registration.provider, email, of: app.id),
            let user = try await tables.user(identity.userId, of: app.id, locked: true)
        else { throw AuthError(.userNotFound, "user not found") }
        try await tables.setPasswordHash(hash, of: email, app: app.id)
        // Whoever had the old password may have made keys with it.
        try await tables.disableAPIKeys(ofUser: user.id, app: app.id)
        try await ends.endAll(of: user, by: .reset, in: tables)
    }
}
