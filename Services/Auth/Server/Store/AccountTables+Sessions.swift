import Postgres

/// A row of `auth_sessions`: a refresh-token lineage on one device.
struct SessionRow: Sendable {
    var id: String
    var app: String
    var userId: String
    var device: String
    var provider: String
    /// The refresh token that was shown last.
    var tokenId: String
    /// The one before it.
    var previousTokenId: String?
    /// When `tokenId` took over, in milliseconds since 1970.
    var advancedAt: Int64
    /// Milliseconds since 1970.
    var expiresAt: Int64
    /// Milliseconds since 1970; `nil` while it lives.
    var revokedAt: Int64?
}

extension AccountTables {
    func insertSession(_ session: SessionRow, now: Int64) async throws {
        try await sql.execute(
            """
            INSERT INTO partita.auth_sessions
                (id, app, user_id, device, provider, token_id, advanced_at, created_at, expires_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $7, $8)
            """,
            [
                .text(session.id), .text(session.app), .text(session.userId), .text(session.device),
                .text(session.provider), .text(session.tokenId), .int(now), .int(session.expiresAt),
            ])
    }

    func session(_ id: String, locked: Bool = false) async throws -> SessionRow? {
        let rows = try await sql.query(
            """
            SELECT id, app, user_id, device, provider, token_id, previous_token_id, advanced_at, expires_at, revoked_at
            FROM partita.auth_sessions WHERE id = $1\(locked ? " FOR UPDATE" : "")
            """, [.text(id)]
        ).decode((String, String, String, String, String, String, String?, Int64, Int64, Int64?).self)
        return rows.first.map {
            SessionRow(
                id: $0.0, app: $0.1, userId: $0.2, device: $0.3, provider: $0.4, tokenId: $0.5, previousTokenId: $0.6,
                advancedAt: $0.7, expiresAt: $0.8, revokedAt: $0.9)
        }
    }

    /// Lets a newer refresh token take over.
    func advanceSession(_ id: String, to tokenId: String, from previous: String, now: Int64) async throws {
        try await sql.execute(
            """
            UPDATE partita.auth_sessions SET token_id = $2, previous_token_id = $3, advanced_at = $4 WHERE id = $1
            """, [.text(id), .text(tokenId), .text(previous), .int(now)])
    }

    func extendSession(_ id: String, to expiresAt: Int64) async throws {
        try await sql.execute(
            "UPDATE partita.auth_sessions SET expires_at = greatest(expires_at, $2) WHERE id = $1",
            [.text(id), .int(expiresAt)])
    }

    /// - Returns: whether it lived until now.
    func revokeSession(_ id: String, now: Int64) async throws -> Bool {
        try await sql.execute(
            "UPDATE partita.auth_sessions SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL",
            [.text(id), .int(now)]) > 0
    }

    /// Revokes all sessions of a user.
    ///
    /// - Returns: id and device of those that lived until now.
    func revokeSessions(ofUser user: String, app: String, now: Int64) async throws -> [(id: String, device: String)] {
        let rows = try await sql.query(
            """
            UPDATE partita.auth_sessions SET revoked_at = $3
            WHERE app = $1 AND user_id = $2 AND revoked_at IS NULL AND expires_at > $3 RETURNING id, device
            """, [.text(app), .text(user), .int(now)]
        ).decode((String, String).self)
        return rows.map { (id: $0.0, device: $0.1) }
    }
}
