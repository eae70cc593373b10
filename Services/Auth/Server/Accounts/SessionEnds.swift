import AccessTokens
import DocumentModel
import EventTopics

/// Ends sessions before their time, and reports it.
struct SessionEnds: Sendable {
    let accounts: Accounts

    /// Ends a session. Ending it again changes nothing.
    func end(_ claims: TokenClaims) async throws {
        try await accounts.transaction { tables in
            guard let user = try await tables.user(claims.user, of: claims.app, locked: true),
                let session = try await tables.session(claims.session), session.userId.hasSameBytes(as: user.id),
                let ended = try await tables.endSession(session.id, by: .signedOut, now: accounts.clock.now())
            else { return }
            try await tell([ended], .signedOut, of: user, in: tables)
        }
    }

    /// Ends one of a user's sessions, from whichever of them.
    ///
    /// - Throws: `sessionNotFound` when the user has no such session, or it is over.
    func end(_ id: String, of user: User) async throws {
        try await accounts.transaction { tables in
            guard let user = try await tables.user(user.id, of: user.app, locked: true),
                let session = try await tables.session(id), session.userId.hasSameBytes(as: user.id),
                session.app.hasSameBytes(as: user.app),
                let ended = try await tables.endSession(id, by: .user, now: accounts.clock.now())
            else { throw AuthError(.sessionNotFound, "session not found, or it is over") }
            try await tell([ended], .sessionRevoked, of: user, in: tables)
        }
    }

    /// Ends all sessions of a user whose row is locked by this transaction.
    func endAll(of user: User, by end: SessionEnd, in tables: AccountTables) async throws {
        let ended = try await tables.endSessions(
            ofUser: user.id, app: user.app, by: end, now: accounts.clock.now())
        try await tell(ended, .sessionRevoked, of: user, in: tables)
    }

    /// Ends the sessions that began with an API key of a user whose row is locked by this transaction.
    func endAll(ofAPIKey key: String, of user: User, in tables: AccountTables) async throws {
        let ended = try await tables.endSessions(
            ofAPIKey: key, user: user.id, app: user.app, now: accounts.clock.now())
        try await tell(ended, .sessionRevoked, of: user, in: tables)
    }

    /// Writes the events of sessions that have ended.
    func tell(
        _ ended: [EndedRow], _ kind: AuthEvent.Kind, of user: User, in tables: AccountTables
    ) async throws {
        try await tables.append(
            ended.map { session in
                var event = accounts.event(
                    kind, user, providers: kind == .signedOut ? [session.provider] : [], session: session.id,
                    device: session.device)
                event.accessUntil = session.accessUntil
                return event
            })
    }
}
