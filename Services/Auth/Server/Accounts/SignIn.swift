import AccessTokens
import AppDefinition
import AppRegistry
import DocumentModel

/// Signing in by one of the app's providers, and linking a further identity to a user.
struct SignIn: Sendable {
    let service: AccountService

    /// Signs in.
    ///
    /// - Parameters:
    ///   - credentials: the call's body.
    ///   - linking: the user to whom the identity is to belong; `nil` signs in as whoever has it.
    func signIn(
        _ providerName: String, credentials: Document, app: DeployedApp, linking: TokenClaims?, origin: CallOrigin
    ) async throws -> Sessions.Grant {
        let metric: (String) -> Void = { service.metrics.signIns[Self.dimension(providerName), $0].increment() }
        do {
            let provider = try service.provider(providerName, of: app)
            try service.keys.check()
            let begun =
                switch provider.type {
                case "local-userpass": try await byPassword(credentials, app: app, linking: linking, origin: origin)
                case "anon-user": try await anonymously(app: app, linking: linking, credentials: credentials)
                case "api-key": try await byAPIKey(credentials, app: app, linking: linking, origin: origin)
                case "custom-function":
                    try await byFunction(provider, credentials, app: app, linking: linking, origin: origin)
                case "custom-token":
                    try await byToken(provider, credentials, app: app, linking: linking, origin: origin)
                default:
                    throw AuthError(.authProviderNotFound, "the auth provider '\(provider.type)' isn't supported")
                }
            let grant = try await Sessions(service: service).grant(begun)
            metric("ok")
            return grant
        } catch {
            metric((error as? AuthError)?.code.rawValue ?? "InternalServerError")
            throw error
        }
    }

    /// Metrics have closed sets of dimensions.
    private static func dimension(_ provider: String) -> String {
        ["local-userpass", "anon-user", "api-key", "custom-function", "custom-token"].contains(provider)
            ? provider : "other"
    }

    // MARK: Providers

    private func byPassword(
        _ credentials: Document, app: DeployedApp, linking: TokenClaims?, origin: CallOrigin
    ) async throws -> Sessions.Begun {
        let email = try credentials.requiredString("username")
        let password = try credentials.requiredString("password")
        // Beyond these lengths nobody can have registered; hashing them would only cost.
        guard email.utf8.count <= 320, password.utf8.count <= 1024 else { throw Self.invalidPassword }
        try await service.throttle.attempt("sign-in", app: app.id, subject: email, address: origin.address)
        let identity = try await service.store.tables.identity("local-userpass", email, of: app.id)
        let result = try await service.hasher.verify(password, hash: identity?.passwordHash)
        guard let identity, result.matches else { throw Self.invalidPassword }
        await service.throttle.succeeded("sign-in", app: app.id, subject: email, address: origin.address)
        let rehashed = result.needsRehash ? try await service.hasher.hash(password) : nil
        return try await service.transaction { tables in
            if let rehashed { try await tables.setPasswordHash(rehashed, of: email, app: app.id) }
            if let linking {
                return try await link(
                    "local-userpass", email, ofUser: identity.userId, to: linking, credentials, in: tables)
            }
            let user = try await usable(identity.userId, app: app, in: tables)
            return try await begin(for: user, provider: "local-userpass", credentials, in: tables)
        }
    }

    private static let invalidPassword = AuthError(.invalidPassword, "invalid username/password")

    /// Each anonymous sign-in is a new user.
    private func anonymously(
        app: DeployedApp, linking: TokenClaims?, credentials: Document
    ) async throws -> Sessions.Begun {
        guard linking == nil else { throw AuthError(.badRequest, "an anonymous identity can't be linked") }
        return try await service.transaction { tables in
            let user = try await create(
                provider: "anon-user", subject: ObjectId().hexString, data: [:], app: app, in: tables)
            return try await begin(for: user, provider: "anon-user", credentials, in: tables)
        }
    }

    private func byAPIKey(
        _ credentials: Document, app: DeployedApp, linking: TokenClaims?, origin: CallOrigin
    ) async throws -> Sessions.Begun {
        guard linking == nil else { throw AuthError(.badRequest, "an API key is its user's, and can't be linked") }
        let key = try credentials.requiredString("key")
        try await service.throttle.attempt("api-key", app: app.id, subject: key, address: origin.address)
        let begun = try await service.transaction { tables in
            guard let id = try await tables.userId(ofAPIKey: Sodium.digest(key), of: app.id) else {
                throw AuthError(.apiKeyNotFound, "no such API key, or it is disabled")
            }
            let user = try await usable(id, app: app, in: tables)
            return try await begin(for: user, provider: "api-key", credentials, in: tables)
        }
        await service.throttle.succeeded("api-key", app: app.id, subject: key, address: origin.address)
        return begun
    }
}
