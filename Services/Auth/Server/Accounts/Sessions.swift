import AccessTokens
import AppRegistry
import DocumentModel
import Logging
import Texts

/// Refresh-token lineages: begun at a sign-in, carried on by refreshing, ended by signing out, by a reset, or by a stolen token.
///
/// Every refresh answers with a new refresh token, whose parent is the one that was shown. The new one takes over when it is shown
/// for the first time; from then on the old one, and every other child of it, is a sign of a stolen copy, and the
/// session ends. A client that never shows the new one (the Realm SDKs keep their first) goes on with its own until that expires.
struct Sessions: Sendable {
    let accounts: Accounts
    let ends: SessionEnds
    let apps: AppDirectory
    let keys: SigningKeyRing
    let customData: CustomDataReader
    let lifetimes: TokenLifetimes
    let logger: Logger

    /// How many sessions a user has at most; the ones that were used longest ago end.
    static let sessionLimit = 500

    /// What a client gets.
    struct Grant: Sendable {
        var accessToken: String
        var refreshToken: String
        var userId: String
        var deviceId: String
    }

    /// A session that a transaction has begun or carried on, and whose tokens are to be made when it has committed.
    struct Begun: Sendable {
        var user: User
        var session: SessionRow
        /// The refresh token that was shown.
        var parent: String?
    }

    /// Begins a session for a user whose row is locked by this transaction.
    ///
    /// - Parameter apiKey: the id of the key that was shown, where one was.
    func begin(
        for user: User, provider: String, apiKey: String? = nil, from client: SignInClient, in tables: AccountTables
    ) async throws -> Begun {
        let now = accounts.clock.now()
        let session = SessionRow(
            id: ObjectId().hexString, app: user.app, userId: user.id, device: client.device, provider: provider,
            apiKeyId: apiKey, tokenId: Self.newTokenId(), advancedAt: now,
            expiresAt: now + lifetimes.refresh * 1000, accessExpiresAt: accessExpiry())
        try await tables.insertSession(session, from: client, now: now)
        try await tables.noteSignIn(user: user.id, of: user.app, now: now)
        try await tables.append(
            accounts.event(.signedIn, user, providers: [provider], session: session.id, device: client.device))
        // A server may sign in by its key for each call. All sessions of a user have to be ended at once when the account is disabled.
        let ended = try await tables.endSessions(
            ofUser: user.id, app: user.app, but: Self.sessionLimit, now: now)
        try await ends.tell(ended, .sessionRevoked, of: user, in: tables)
        return Begun(user: user, session: session)
    }

    /// When an access token of now expires, in milliseconds since 1970: a whole second, as tokens count.
    private func accessExpiry() -> Int64 { (accounts.clock.seconds + lifetimes.access) * 1000 }

    /// Makes the tokens of a session. Outside of its transaction, because the user's custom data is read from elsewhere.
    func grant(_ begun: Begun) async throws -> Grant {
        let custom = await customData.read(try apps.required(begun.user.app), begun.user.id)
        return Grant(
            accessToken: try accessToken(begun.user, begun.session, custom: custom),
            refreshToken: try refreshToken(begun.session, parent: begun.parent), userId: begun.user.id,
            deviceId: begun.session.device)
    }

    /// Exchanges a refresh token.
    ///
    /// - Throws: `invalidSession` for a session that is over, and for a token that was superseded (which ends the session).
    func refresh(_ claims: TokenClaims, origin: CallOrigin) async throws -> Grant {
        guard let tokenId = claims.tokenId else { throw AuthError(.invalidSession, "invalid session") }
        // The end of a session for a superseded token must be committed, so it is no error inside the transaction.
        let outcome = try await accounts.transaction { tables -> Result<Begun, AuthError> in
            guard let session = try await tables.session(claims.session, locked: true),
                let user = try await tables.user(session.userId, of: session.app)
            else { return .failure(AuthError(.invalidSession, "invalid session")) }
            do {
                try check(session, user, claims)
            } catch let error as AuthError {
                return .failure(error)
            }
            switch standing(of: tokenId, parent: claims.parentTokenId, in: session) {
            case .superseded:
                let ended = try await tables.endSession(session.id, by: .stolen, now: accounts.clock.now())
                try await ends.tell([ended].compactMap(\.self), .sessionRevoked, of: user, in: tables)
                logger.warning(
                    "a superseded refresh token was shown; the session ends",
                    metadata: ["app": "\(user.app)", "user.id": "\(user.id)", "session.id": "\(session.id)"])
                return .failure(AuthError(.invalidSession, "invalid session"))
            case .takesOver:
                try await tables.advanceSession(
                    session.id, to: tokenId, from: session.tokenId, now: accounts.clock.now())
            case .justReplaced:
                // The new token succeeds the present one: who is given it has it as their newest.
                return .success(try await carryOn(session, user, parent: session.tokenId, origin: origin, in: tables))
            case .current: break
            }
            return .success(try await carryOn(session, user, parent: tokenId, origin: origin, in: tables))
        }
        return try await grant(try outcome.get())
    }

    /// Goes on with the session of a user who has linked an identity. The Realm SDKs take only the access token of the answer, and sign out
    /// with the refresh token that they have: a session of its own would outlive that.
    func carryOn(
        _ claims: TokenClaims, from client: SignInClient, in tables: AccountTables
    ) async throws -> Begun {
        guard let session = try await tables.session(claims.session, locked: true),
            let user = try await tables.user(claims.user, of: claims.app)
        else { throw AuthError(.invalidSession, "invalid session") }
        try check(session, user, claims)
        return try await carryOn(session, user, parent: session.tokenId, origin: client.origin, in: tables)
    }

    private func carryOn(
        _ session: SessionRow, _ user: User, parent: String, origin: CallOrigin, in tables: AccountTables
    ) async throws -> Begun {
        var next = session
        next.tokenId = Self.newTokenId()
        next.expiresAt = accounts.clock.now() + lifetimes.refresh * 1000
        next.accessExpiresAt = accessExpiry()
        try await tables.extendSession(next, from: origin, now: accounts.clock.now())
        return Begun(user: user, session: next, parent: parent)
    }

    private enum Standing { case current, takesOver, justReplaced, superseded }

    private func standing(of tokenId: String, parent: String?, in session: SessionRow) -> Standing {
        if tokenId.hasSameBytes(as: session.tokenId) { return .current }
        if parent.map(session.tokenId.hasSameBytes) == true { return .takesOver }
        let leeway = lifetimes.rotationLeeway * 1000
        if session.previousTokenId.map(tokenId.hasSameBytes) == true, accounts.clock.now() - session.advancedAt < leeway
        {
            return .justReplaced
        }
        return .superseded
    }

    private func check(_ session: SessionRow, _ user: User, _ claims: TokenClaims) throws(AuthError) {
        guard session.app.hasSameBytes(as: claims.app), session.userId.hasSameBytes(as: claims.user),
            session.revokedAt == nil,
            session.expiresAt > accounts.clock.now()
        else { throw AuthError(.invalidSession, "invalid session") }
        guard !user.isDisabled else { throw AuthError(.userDisabled, "user disabled") }
    }

    /// The session's user, for a token that has been verified.
    ///
    /// - Parameter tables: a transaction that has locked the user, until whose end the session then lives.
    /// - Throws: `invalidSession` when the session is over, `userDisabled`.
    func user(of claims: TokenClaims, in tables: AccountTables? = nil) async throws -> User {
        let tables = tables ?? accounts.tables
        guard let session = try await tables.session(claims.session),
            let user = try await tables.user(claims.user, of: claims.app)
        else { throw AuthError(.invalidSession, "invalid session") }
        try check(session, user, claims)
        return user
    }

    // MARK: Tokens

    private func accessToken(_ user: User, _ session: SessionRow, custom: Document?) throws -> String {
        let now = accounts.clock.seconds
        return try keys.sign(
            TokenClaims(
                session: session.id, user: user.id, device: session.device, app: user.app, type: .access, issuedAt: now,
                // As the row has it: until then the end of the session is remembered.
                expiresAt: (session.accessExpiresAt ?? accessExpiry()) / 1000, userType: user.type, data: user.data,
                customData: custom,
                identities: user.identityDocuments))
    }

    private func refreshToken(_ session: SessionRow, parent: String?) throws -> String {
        try keys.sign(
            TokenClaims(
                session: session.id, user: session.userId, device: session.device, app: session.app, type: .refresh,
                issuedAt: accounts.clock.seconds, expiresAt: session.expiresAt / 1000, tokenId: session.tokenId,
                parentTokenId: parent))
    }

    private static func newTokenId() -> String { Hex.text(Sodium.randomBytes(12)) }
}
