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
                case "api-key": try await byAPIKey(credentials, app: app, origin: origin)
                case "custom-function":
                    try await byFunction(provider, credentials, app: app, linking: linking, origin: origin)
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
        ["local-userpass", "anon-user", "api-key", "custom-function"].contains(provider) ? provider : "other"
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

    private func byAPIKey(_ credentials: Document, app: DeployedApp, origin: CallOrigin) async throws -> Sessions.Begun
    {
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

    /// The app's function says who it is: a string, or a document with `id` and what goes into the profile (`name`, …).
    private func byFunction(
        _ provider: AuthProvider, _ credentials: Document, app: DeployedApp, linking: TokenClaims?, origin: CallOrigin
    ) async throws -> Sessions.Begun {
        guard case .string(let function)? = provider.config["authFunctionName"] else {
            throw AuthError(.authProviderNotFound, "the provider has no function")
        }
        var payload = credentials
        payload["options"] = nil
        let subjectOfAttempt = payload.description
        try await service.throttle.attempt("function", app: app.id, subject: subjectOfAttempt, address: origin.address)
        let answer: Value
        do {
            answer = try await service.functions.call(app, function, [.document(payload)])
        } catch {
            service.logger.info("an auth function refused", metadata: ["app": "\(app.id)", "error": "\(error)"])
            throw AuthError(.authError, "the function \(function) refused or failed")
        }
        guard let subject = answer.stringValue ?? answer["id"]?.stringValue, !subject.isEmpty else {
            throw AuthError(.authError, "the function \(function) returned no id")
        }
        await service.throttle.succeeded("function", app: app.id, subject: subjectOfAttempt, address: origin.address)
        var data = answer.documentValue ?? Document()
        data["id"] = nil
        let profile = data
        return try await service.transaction { tables in
            let known = try await tables.identity("custom-function", subject, of: app.id)
            if let linking, let known {
                return try await link(
                    "custom-function", subject, ofUser: known.userId, to: linking, credentials, in: tables)
            }
            let user =
                if let known {
                    try await usable(known.userId, app: app, in: tables)
                } else {
                    try await create(provider: "custom-function", subject: subject, data: profile, app: app, in: tables)
                }
            return try await begin(for: user, provider: "custom-function", credentials, in: tables)
        }
    }

    // MARK: Users

    private func create(
        provider: String, subject: String, data: Document, app: DeployedApp, in tables: AccountTables
    ) async throws -> User {
        let now = service.clock.now()
        let identity = IdentityRow(
            id: ObjectId().hexString, provider: provider, subject: subject, userId: ObjectId().hexString)
        let user = User(
            app: app.id, id: identity.userId, type: "normal", data: data,
            identities: [User.Identity(id: identity.id, provider: provider)], isPending: false, isDisabled: false,
            createdAt: now)
        try await tables.insertUser(user)
        guard try await tables.insertIdentity(identity, of: app.id, now: now) else {
            throw AuthError(.serviceUnavailable, "the same identity signs in elsewhere right now; try again")
        }
        try await tables.append(service.event(.userCreated, user, providers: [provider]))
        return user
    }

    private func usable(_ id: String, app: DeployedApp, in tables: AccountTables) async throws -> User {
        guard let user = try await tables.user(id, of: app.id, locked: true) else {
            throw AuthError(.userNotFound, "user not found")
        }
        guard !user.isPending else { throw AuthError(.authError, "confirmation required") }
        guard !user.isDisabled else { throw AuthError(.userDisabled, "user disabled") }
        return user
    }

    private func begin(
        for user: User, provider: String, _ credentials: Document, in tables: AccountTables
    ) async throws -> Sessions.Begun {
        try await Sessions(service: service).begin(
            for: user, provider: provider, device: Self.device(in: credentials), in: tables)
    }

    /// The device's id where it brings one, else a new one.
    private static func device(in credentials: Document) -> String {
        if case .document(let options)? = credentials["options"],
            let text = options["device"]?["deviceId"]?.stringValue, let id = ObjectId(hexString: text),
            id.high != 0 || id.low != 0
        {
            return id.hexString
        }
        return ObjectId().hexString
    }

    /// Moves an identity to another user. Its own must never have been used, and disappears.
    private func link(
        _ provider: String, _ subject: String, ofUser owner: String, to claims: TokenClaims, _ credentials: Document,
        in tables: AccountTables
    ) async throws -> Sessions.Begun {
        guard var user = try await tables.user(claims.user, of: claims.app, locked: true), !user.isDisabled else {
            throw AuthError(.invalidSession, "invalid session")
        }
        if owner != user.id {
            guard let other = try await tables.user(owner, of: claims.app, locked: true), other.lastSignIn == nil,
                !other.isPending, !other.isDisabled
            else { throw AuthError(.accountNameInUse, "the identity belongs to another user") }
            try await tables.moveIdentity(provider, subject, of: claims.app, to: user.id)
            try await tables.append(service.event(.userDeleted, other, providers: [provider]))
            try await tables.deleteUser(other.id, of: claims.app)
            for field in other.data.fields where user.data[field.key] == nil { user.data[field.key] = field.value }
            try await tables.setData(user.data, user: user.id, of: claims.app)
            user.identities = try await tables.user(user.id, of: claims.app)?.identities ?? user.identities
            try await tables.append(service.event(.identityLinked, user, providers: [provider]))
        }
        return try await begin(for: user, provider: provider, credentials, in: tables)
    }
}
