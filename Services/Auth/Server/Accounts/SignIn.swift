import AccessTokens
import AppDefinition
import AppRegistry
import DocumentModel
import Logging

/// Signing in by one of the app's providers, and linking a further identity to a user.
struct SignIn: Sendable {
    let accounts: Accounts
    let sessions: Sessions
    let reset: PasswordReset
    let hasher: PasswordHasher
    let throttle: AttemptThrottle
    let budget: CallBudget
    let issuers: TokenIssuers
    let proofs: OAuthProofs
    let functions: FunctionCaller
    let metrics: AuthMetrics
    let logger: Logger

    /// Signs in.
    ///
    /// - Parameters:
    ///   - credentials: the call's body.
    ///   - linking: the user who gets the identity; `nil` signs in as the user who has it.
    func signIn(
        _ providerName: String, credentials: Document, app: DeployedApp, linking: TokenClaims?, origin: CallOrigin
    ) async throws -> Sessions.Grant {
        try await counted(providerName, app: app) { provider in
            let client = SignInClient(credentials: credentials, origin: origin)
            switch provider.type {
            case "local-userpass":
                return try await byPassword(credentials, app: app, linking: linking, client: client)
            case "anon-user": return try await anonymously(app: app, linking: linking, client: client)
            case "api-key": return try await byAPIKey(credentials, app: app, linking: linking, client: client)
            case "custom-function":
                return try await byFunction(provider, credentials, app: app, linking: linking, client: client)
            case "custom-token":
                return try await byToken(provider, credentials, app: app, linking: linking, client: client)
            default:
                guard let settings = OAuthSettings(provider) else {
                    throw AuthError(.authProviderNotFound, "the auth provider '\(provider.type)' isn't supported")
                }
                return try await byOAuth(
                    provider, settings, try OAuthProof(credentials), app: app, linking: linking, client: client)
            }
        }
    }

    /// Begins a session by one of the app's providers, makes its tokens, and counts the outcome.
    func counted(
        _ providerName: String, app: DeployedApp, _ begin: (AuthProvider) async throws -> Sessions.Begun
    ) async throws -> Sessions.Grant {
        var dimension = "other"
        do {
            let provider = try app.provider(providerName)
            dimension = Self.dimension(provider.type)
            try sessions.keys.check()
            let grant = try await sessions.grant(try await begin(provider))
            metrics.signIns[dimension, "ok"].increment()
            return grant
        } catch {
            metrics.signIns[dimension, (error as? AuthError)?.code.rawValue ?? "InternalServerError"].increment()
            throw error
        }
    }

    /// Metrics have closed sets of dimensions.
    private static func dimension(_ type: String) -> String {
        let own = ["local-userpass", "anon-user", "api-key", "custom-function", "custom-token"]
        return own.contains(type) || OAuthSettings.types.contains(type) ? type : "other"
    }

    // MARK: Providers

    private func byPassword(
        _ credentials: Document, app: DeployedApp, linking: TokenClaims?, client: SignInClient
    ) async throws -> Sessions.Begun {
        let email = try credentials.requiredString("username")
        let password = try credentials.requiredString("password")
        // Longer ones can't have been registered, and hashing them would cost time.
        guard email.utf8.count <= 320, password.utf8.count <= 1024 else { throw Self.invalidPassword }
        let identity = try await accounts.tables.identity("local-userpass", email, of: app.id)
        let caller = try await caller(client, user: identity?.userId, app: app)
        try await throttle.attempt(.signIn, app: app.id, subject: email, caller: caller)
        let share = PasswordCaller(app: app.id, origin: client.origin)
        let result = try await hasher.verify(password, hash: identity?.passwordHash, for: share)
        if let identity, identity.passwordHash == nil {
            // Of an import, which had no hash. Registering shows as well whether an account exists.
            guard try await accounts.tables.user(identity.userId, of: app.id)?.isDisabled == false else {
                throw Self.invalidPassword
            }
            throw AuthError(.invalidPassword, try await reset.offer(email: email, app: app, origin: client.origin))
        }
        guard let identity, result.matches else { throw Self.invalidPassword }
        try await throttle.succeeded(.signIn, app: app.id, subject: email, caller: caller)
        let rehashed = result.needsRehash ? try await hasher.hash(password, for: share) : nil
        return try await accounts.transaction { tables in
            let begun: Sessions.Begun
            if let linking {
                begun = try await link(
                    "local-userpass", email, ofUser: identity.userId, to: linking, client, in: tables)
            } else {
                let user = try await usable(identity.userId, app: app, in: tables)
                begun = try await begin(for: user, provider: "local-userpass", client, in: tables)
            }
            // The user's row is locked: had the password been reset since it was read, the session would outlive it.
            guard try await tables.identity("local-userpass", email, of: app.id)?.passwordHash == identity.passwordHash
            else { throw Self.invalidPassword }
            if let rehashed { try await tables.setPasswordHash(rehashed, of: email, app: app.id) }
            return begun
        }
    }

    private static let invalidPassword = AuthError(.invalidPassword, "invalid username/password")

    /// The caller by whom an attempt is counted: guesses from elsewhere don't affect a device that has signed in to the account before.
    private func caller(
        _ client: SignInClient, user: String?, app: DeployedApp
    ) async throws -> AttemptThrottle.Caller {
        var caller = AttemptThrottle.Caller(address: client.origin.address)
        // Also without a user, so that the time doesn't show whether an account exists.
        if !client.isNewDevice,
            try await accounts.tables.knows(
                device: client.device, ofUser: user ?? "", app: app.id, now: accounts.clock.now())
        {
            caller.knownDevice = client.device
        }
        return caller
    }

    /// Each anonymous sign-in is a new user.
    private func anonymously(
        app: DeployedApp, linking: TokenClaims?, client: SignInClient
    ) async throws -> Sessions.Begun {
        guard linking == nil else { throw AuthError(.badRequest, "an anonymous identity can't be linked") }
        try await budget.spend(.anonymous, app: app.id, address: client.origin.address)
        return try await accounts.transaction { tables in
            let user = try await create(
                provider: "anon-user", subject: ObjectId().hexString, data: [:], app: app, in: tables)
            return try await begin(for: user, provider: "anon-user", client, in: tables)
        }
    }

    private func byAPIKey(
        _ credentials: Document, app: DeployedApp, linking: TokenClaims?, client: SignInClient
    ) async throws -> Sessions.Begun {
        guard linking == nil else { throw AuthError(.badRequest, "an API key is its user's, and can't be linked") }
        let key = try credentials.requiredString("key")
        let caller = AttemptThrottle.Caller(address: client.origin.address)
        try await throttle.attempt(.apiKey, app: app.id, subject: key, caller: caller)
        let digest = Sodium.digest(key)
        let begun = try await accounts.transaction { tables in
            guard let row = try await tables.apiKey(hash: digest, of: app.id) else { throw Self.invalidKey }
            let user = try await usable(row.user, app: app, in: tables)
            // The user's row is locked: had the key been disabled since it was read, the session would outlive it.
            guard try await tables.apiKey(hash: digest, of: app.id) != nil else { throw Self.invalidKey }
            return try await begin(for: user, provider: "api-key", apiKey: row.id, client, in: tables)
        }
        try await throttle.succeeded(.apiKey, app: app.id, subject: key, caller: caller)
        return begun
    }

    private static let invalidKey = AuthError(.authError, "invalid API key, or it is disabled")
}
