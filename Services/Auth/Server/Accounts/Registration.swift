import AppDefinition
import AppRegistry
import DocumentModel

/// New accounts with e-mail and password: registering and confirming.
struct Registration: Sendable {
    let accounts: Accounts
    let links: EmailLinks
    let hasher: PasswordHasher
    let throttle: AttemptThrottle
    let budget: CallBudget

    static let provider = "local-userpass"
    private static let passwordLength = 6...128
    private static let nameInUse = AuthError(.accountNameInUse, "name already in use")

    /// Registers an account. Depending on the app it can be used at once, after a function's word, or after a mail's link.
    func register(email: String, password: String, app: DeployedApp, origin: CallOrigin) async throws {
        let settings = EmailPasswordSettings(try app.provider(Self.provider))
        try EmailAddress.check(email)
        try Self.check(password: password)
        try await budget.spend(.register, app: app.id, address: origin.address)
        let caller = AttemptThrottle.Caller(address: origin.address)
        try await throttle.attempt(.register, app: app.id, subject: email, caller: caller)
        // Asked before the password is hashed, which costs; and again by the insertion.
        guard try await accounts.tables.identity(Self.provider, email, of: app.id) == nil else {
            throw Self.nameInUse
        }
        let hash = try await hasher.hash(password, for: PasswordCaller(app: app.id, origin: origin))
        let user = try await insert(email: email, hash: hash, app: app, isPending: settings.confirmation != .automatic)
        try await throttle.succeeded(.register, app: app.id, subject: email, caller: caller)
        switch settings.confirmation {
        case .automatic: break
        case .mail: try await sendConfirmation(email, app: app, settings: settings)
        case .function(let name):
            try await runConfirmation(name, email: email, user: user, app: app) {
                // What fails is forgotten, so that the address can register again.
                try await accounts.forgetPending(user.id, app: app.id)
            }
        }
    }

    private func insert(email: String, hash: String, app: DeployedApp, isPending: Bool) async throws -> User {
        let now = accounts.clock.now()
        let identity = IdentityRow(
            id: ObjectId().hexString, provider: Self.provider, subject: email, userId: ObjectId().hexString,
            passwordHash: hash)
        let user = User(
            app: app.id, id: identity.userId, type: "normal", data: ["email": .string(email)],
            identities: [User.Identity(id: identity.id, provider: Self.provider)], isPending: isPending,
            isDisabled: false,
            createdAt: now)
        try await accounts.transaction { tables in
            try await tables.insertUser(user)
            guard try await tables.insertIdentity(identity, of: app.id, now: now) else {
                throw Self.nameInUse
            }
            if !isPending { try await tables.append(accounts.event(.userCreated, user, providers: [Self.provider])) }
        }
        return user
    }

    /// Confirms an account with the token of a mail, or of a confirmation function.
    func confirm(token: String, tokenId: String, app: DeployedApp) async throws {
        _ = try app.provider(Self.provider)
        try await accounts.transaction { tables in
            let email = try await tables.takeEmailToken(
                .confirm, id: tokenId, secretHash: Sodium.digest(token), of: app.id, now: accounts.clock.now())
            guard let email, let identity = try await tables.identity(Self.provider, email, of: app.id) else {
                throw AuthError(.userpassTokenInvalid, "invalid token data")
            }
            try await activate(identity.userId, app: app, in: tables)
        }
    }

    /// Makes a pending account usable, and reports it as created.
    private func activate(_ id: String, app: DeployedApp, in tables: AccountTables) async throws {
        guard var user = try await tables.user(id, of: app.id, locked: true) else {
            throw AuthError(.userNotFound, "user not found")
        }
        guard user.isPending else { throw AuthError(.userAlreadyConfirmed, "already confirmed") }
        try await tables.setPending(false, user: id, of: app.id)
        user.isPending = false
        try await tables.append(accounts.event(.userCreated, user, providers: [Self.provider]))
    }

    /// Sends the mail again.
    func resendConfirmation(email: String, app: DeployedApp, origin: CallOrigin) async throws {
        let settings = EmailPasswordSettings(try app.provider(Self.provider))
        guard settings.confirmation == .mail else {
            throw AuthError(.badRequest, "the app doesn't confirm accounts by mail")
        }
        try await throttle.attempt(
            .mail, app: app.id, subject: email, caller: .init(address: origin.address))
        _ = try await pendingUser(email, app: app)
        try await sendConfirmation(email, app: app, settings: settings)
    }

    /// Runs the confirmation function again.
    func retryConfirmation(email: String, app: DeployedApp, origin: CallOrigin) async throws {
        let settings = EmailPasswordSettings(try app.provider(Self.provider))
        guard case .function(let name) = settings.confirmation else {
            throw AuthError(.badRequest, "the app doesn't confirm accounts by a function")
        }
        try await throttle.attempt(
            .accountFunction, app: app.id, subject: email, caller: .init(address: origin.address))
        let user = try await pendingUser(email, app: app)
        // Anybody may ask for it: a failure says nothing about the account.
        try await runConfirmation(name, email: email, user: user, app: app) {}
    }

    private func pendingUser(_ email: String, app: DeployedApp) async throws -> User {
        guard let identity = try await accounts.tables.identity(Self.provider, email, of: app.id),
            let user = try await accounts.tables.user(identity.userId, of: app.id)
        else { throw AuthError(.userNotFound, "user not found") }
        guard user.isPending else { throw AuthError(.userAlreadyConfirmed, "already confirmed") }
        return user
    }

    private func sendConfirmation(_ email: String, app: DeployedApp, settings: EmailPasswordSettings) async throws {
        let link = try await links.make(
            .confirm, page: settings.confirmationURL, email: email, app: app)
        try await links.send(
            Mail(
                to: email, subject: settings.confirmationSubject,
                body: """
                    Please confirm your e-mail address for \(app.definition.name) by opening this page within \
                    \(links.lifetime / 60) minutes:

                    \(link.url)
                    """,
                link: link.url))
    }

    /// The function says `success`, `pending` or `fail`.
    private func runConfirmation(
        _ name: String, email: String, user: User, app: DeployedApp, failed: () async throws -> Void
    ) async throws {
        let link = try await links.make(.confirm, page: "", email: email, app: app)
        let argument: Document = [
            "token": .string(link.token), "tokenId": .string(link.tokenId), "username": .string(email),
        ]
        switch try await links.status(of: name, app: app, arguments: [.document(argument)]) {
        case .success:
            try await accounts.transaction { tables in try await activate(user.id, app: app, in: tables) }
        case .pending: return
        case .fail(let failure):
            try await failed()
            throw failure ?? AuthError(.badRequest, "failed to confirm user")
        }
    }

    static func check(password: String) throws {
        guard passwordLength.contains(password.unicodeScalars.count), password.utf8.count <= 1024 else {
            throw AuthError(.invalidParameter, "password must be between 6 and 128 characters")
        }
    }
}
