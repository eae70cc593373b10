import AccessTokens
import AppRegistry
import DocumentModel

/// The users behind identities.
extension SignIn {
    /// Signs in the user of an identity that the app's function or issuer has confirmed, creates the user where there is none, or gives
    /// the identity to the linking user.
    ///
    /// - Parameters:
    ///   - profile: what the identity says of the user.
    ///   - refreshed: the fields of a known user's profile that are as the identity says now, and are removed if it doesn't say them.
    func enter(
        _ provider: String, subject: String, profile: Document, refreshed: [String], app: DeployedApp,
        linking: TokenClaims?, client: SignInClient
    ) async throws -> Sessions.Begun {
        guard subject.utf8.count <= 1024, !subject.utf8.contains(0) else {
            throw AuthError(.invalidParameter, "an identity's id has at most 1,024 bytes, and no U+0000")
        }
        for _ in 0..<2 {
            do {
                return try await enterOnce(
                    provider, subject: subject, profile: profile, refreshed: refreshed, app: app,
                    linking: linking, client: client)
            } catch is IdentityTaken {
                continue  // it exists now
            }
        }
        throw AuthError(.serviceUnavailable, "the same identity signs in elsewhere right now; try again")
    }

    private static func check(_ profile: Document) throws(AuthError) {
        guard User.fits(profile) else {
            throw AuthError(
                .invalidParameter,
                "the user's profile has more than \(User.maximumDataBytes) bytes, which access tokens have to carry: let the provider say less of the user, and keep the rest in custom user data"
            )
        }
    }

    /// Another sign-in has made the identity meanwhile.
    private struct IdentityTaken: Error {}

    private func enterOnce(
        _ provider: String, subject: String, profile: Document, refreshed: [String], app: DeployedApp,
        linking: TokenClaims?, client: SignInClient
    ) async throws -> Sessions.Begun {
        try await accounts.transaction { tables in
            let known = try await tables.identity(provider, subject, of: app.id)
            if let linking {
                guard let known else {
                    return try await attach(
                        provider, subject, profile: profile, to: linking, client, in: tables)
                }
                return try await link(provider, subject, ofUser: known.userId, to: linking, client, in: tables)
            }
            guard let known else {
                let user = try await create(provider: provider, subject: subject, data: profile, app: app, in: tables)
                return try await begin(for: user, provider: provider, client, in: tables)
            }
            var user = try await usable(known.userId, app: app, in: tables)
            let before = user.data
            for name in refreshed { user.data[name] = profile[name] }
            if !user.data.isIdentical(to: before) {
                try Self.check(user.data)
                try await tables.setData(user.data, user: user.id, of: app.id)
            }
            return try await begin(for: user, provider: provider, client, in: tables)
        }
    }

    /// Gives the linking user a new identity.
    private func attach(
        _ provider: String, _ subject: String, profile: Document, to claims: TokenClaims, _ client: SignInClient,
        in tables: AccountTables
    ) async throws -> Sessions.Begun {
        guard var user = try await tables.user(claims.user, of: claims.app, locked: true), !user.isDisabled else {
            throw AuthError(.invalidSession, "invalid session")
        }
        try Self.checkRoom(for: user)
        let identity = IdentityRow(id: ObjectId().hexString, provider: provider, subject: subject, userId: user.id)
        guard try await tables.insertIdentity(identity, of: claims.app, now: accounts.clock.now()) else {
            throw IdentityTaken()
        }
        user.identities.append(User.Identity(id: identity.id, provider: provider))
        try await fill(&user, with: profile, in: tables)
        try await tables.append(accounts.event(.identityLinked, user, providers: [provider]))
        return try await sessions.carryOn(claims, from: client, in: tables)
    }

    /// Adds to a user's profile what it doesn't have yet.
    private func fill(_ user: inout User, with profile: Document, in tables: AccountTables) async throws {
        for field in profile.fields where user.data[field.key] == nil { user.data[field.key] = field.value }
        try Self.check(user.data)
        try await tables.setData(user.data, user: user.id, of: user.app)
    }

    private static func checkRoom(for user: User) throws(AuthError) {
        guard user.identities.count < User.maximumIdentities else {
            throw AuthError(.badRequest, "a user has at most \(User.maximumIdentities) identities")
        }
    }

    func create(
        provider: String, subject: String, data: Document, app: DeployedApp, in tables: AccountTables
    ) async throws -> User {
        try Self.check(data)
        let now = accounts.clock.now()
        let identity = IdentityRow(
            id: ObjectId().hexString, provider: provider, subject: subject, userId: ObjectId().hexString)
        let user = User(
            app: app.id, id: identity.userId, type: "normal", data: data,
            identities: [User.Identity(id: identity.id, provider: provider)], isPending: false, isDisabled: false,
            createdAt: now)
        try await tables.insertUser(user)
        guard try await tables.insertIdentity(identity, of: app.id, now: now) else {
            throw IdentityTaken()
        }
        try await tables.append(accounts.event(.userCreated, user, providers: [provider]))
        return user
    }

    func usable(_ id: String, app: DeployedApp, in tables: AccountTables) async throws -> User {
        guard let user = try await tables.user(id, of: app.id, locked: true) else {
            throw AuthError(.userNotFound, "user not found")
        }
        guard !user.isPending else { throw AuthError(.authError, "confirmation required") }
        guard !user.isDisabled else { throw AuthError(.userDisabled, "user disabled") }
        return user
    }

    func begin(
        for user: User, provider: String, apiKey: String? = nil, _ client: SignInClient, in tables: AccountTables
    ) async throws -> Sessions.Begun {
        try await sessions.begin(
            for: user, provider: provider, apiKey: apiKey, from: client, in: tables)
    }

    /// Moves an identity to another user. Its own must never have been used, and disappears.
    func link(
        _ provider: String, _ subject: String, ofUser owner: String, to claims: TokenClaims, _ client: SignInClient,
        in tables: AccountTables
    ) async throws -> Sessions.Begun {
        guard var user = try await tables.user(claims.user, of: claims.app, locked: true), !user.isDisabled else {
            throw AuthError(.invalidSession, "invalid session")
        }
        if !owner.hasSameBytes(as: user.id) {
            // A user has one password.
            guard provider != "local-userpass" || !user.identities.contains(where: { $0.provider == provider }) else {
                throw AuthError(
                    .badRequest, "linking a local-userpass identity is not allowed when one is already linked")
            }
            try Self.checkRoom(for: user)
            let other = try await tables.user(owner, of: claims.app, locked: true)
            if other?.isPending == true { throw AuthError(.authError, "confirmation required") }
            guard let other, other.lastSignIn == nil, !other.isDisabled
            else { throw AuthError(.accountNameInUse, "the identity belongs to another user") }
            try await tables.moveIdentity(provider, subject, of: claims.app, to: user.id)
            try await tables.append(accounts.event(.userDeleted, other, providers: [provider]))
            try await tables.deleteUser(other.id, of: claims.app, now: accounts.clock.now())
            try await fill(&user, with: other.data, in: tables)
            user.identities = try await tables.user(user.id, of: claims.app)?.identities ?? user.identities
            try await tables.append(accounts.event(.identityLinked, user, providers: [provider]))
        }
        return try await sessions.carryOn(claims, from: client, in: tables)
    }
}
