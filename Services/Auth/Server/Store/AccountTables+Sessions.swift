import DocumentModel
import Postgres
import ServiceEngines

/// A row of `auth_sessions`: a refresh-token lineage on one device.
struct SessionRow: Sendable {
    var id: String
    var app: String
    var userId: String
    var device: String
    var provider: String
    /// The API key that it began with, if it began with one.
    var apiKeyId: String?
    /// The refresh token that was shown last.
    var tokenId: String
    /// The one before it.
    var previousTokenId: String?
    /// When `tokenId` took over, in milliseconds since 1970.
    var advancedAt: Int64
    /// Milliseconds since 1970.
    var expiresAt: Int64
    /// When its newest access token expires, in milliseconds since 1970; `nil` for a session from before this column.
    var accessExpiresAt: Int64?
    /// Milliseconds since 1970; `nil` while it hasn't ended.
    var revokedAt: Int64?
}

/// Why a session ended before its time.
enum SessionEnd: String, Sendable {
    /// Its own device signed out.
    case signedOut = "signed-out"
    /// Its user ended it from elsewhere.
    case user
    /// The account has a new password.
    case reset
    /// The API key that it began with is disabled or deleted.
    case apiKey = "api-key"
    /// A superseded refresh token was shown.
    case stolen
    /// An administrator ended it, or the account was disabled or deleted.
    case administrator
    /// The user had begun too many later ones.
    case tooMany = "too-many"
}

/// A session that has ended.
struct EndedRow: Sendable {
    var id: String
    var device: String
    var provider: String
    /// When its last access token expires, in milliseconds since 1970.
    var accessUntil: Int64
}

extension AccountTables {
    func insertSession(_ session: SessionRow, from client: SignInClient, now: Int64) async throws {
        try await sql.execute(
            """
            INSERT INTO partita.auth_sessions
                (id, app, user_id, device, provider, api_key_id, token_id, advanced_at, created_at, expires_at,
                 access_expires_at, platform, agent, address, seen_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9, $10, $11, $12, $13, $8)
            """,
            [
                .text(session.id), .text(session.app), .text(session.userId), .text(session.device),
                .text(session.provider), PostgresValue(session.apiKeyId), .text(session.tokenId), .int(now),
                .int(session.expiresAt), session.accessExpiresAt.map { .int($0) } ?? .null, .text(client.platform),
                .text(client.origin.agent), .text(client.origin.address),
            ])
    }

    func session(_ id: String, locked: Bool = false) async throws -> SessionRow? {
        let rows = try await sql.query(
            """
            SELECT id, app, user_id, device, provider, api_key_id, token_id, previous_token_id, advanced_at, expires_at,
                access_expires_at, revoked_at
            FROM partita.auth_sessions WHERE id = $1\(locked ? " FOR UPDATE" : "")
            """, [.text(id)]
        ).decode(
            (String, String, String, String, String, String?, String, String?, Int64, Int64, Int64?, Int64?).self)
        return rows.first.map {
            SessionRow(
                id: $0.0, app: $0.1, userId: $0.2, device: $0.3, provider: $0.4, apiKeyId: $0.5, tokenId: $0.6,
                previousTokenId: $0.7, advancedAt: $0.8, expiresAt: $0.9, accessExpiresAt: $0.10, revokedAt: $0.11)
        }
    }

    /// Replaces the refresh token by a newer one.
    func advanceSession(_ id: String, to tokenId: String, from previous: String, now: Int64) async throws {
        try await sql.execute(
            """
            UPDATE partita.auth_sessions SET token_id = $2, previous_token_id = $3, advanced_at = $4 WHERE id = $1
            """, [.text(id), .text(tokenId), .text(previous), .int(now)])
    }

    /// Extends a session for which new tokens are about to be made.
    func extendSession(_ session: SessionRow, from origin: CallOrigin, now: Int64) async throws {
        try await sql.execute(
            """
            UPDATE partita.auth_sessions SET expires_at = greatest(expires_at, $2),
                access_expires_at = greatest(access_expires_at, $3), agent = $4, address = $5, seen_at = $6
            WHERE id = $1
            """,
            [
                .text(session.id), .int(session.expiresAt), session.accessExpiresAt.map { .int($0) } ?? .null,
                .text(origin.agent), .text(origin.address), .int(now),
            ])
    }

    /// Ends a session, and records for all services that its access tokens are void.
    ///
    /// - Returns: `nil` when it had ended before.
    func endSession(_ id: String, by end: SessionEnd, now: Int64) async throws -> EndedRow? {
        try await endSessions("id = $3", [.text(id)], by: end, now: now).first
    }

    /// Ends all sessions of a user.
    ///
    /// - Returns: those that had not ended before.
    func endSessions(ofUser user: String, app: String, by end: SessionEnd, now: Int64) async throws -> [EndedRow] {
        try await endSessions("app = $3 AND user_id = $4", [.text(app), .text(user)], by: end, now: now)
    }

    /// Ends the sessions of a user that were used longest ago, but for some.
    ///
    /// - Parameter count: how many stay.
    func endSessions(ofUser user: String, app: String, but count: Int, now: Int64) async throws -> [EndedRow] {
        try await endSessions(
            """
            id = ANY(ARRAY(
                SELECT id FROM partita.auth_sessions WHERE app = $3 AND user_id = $4 AND revoked_at IS NULL
                ORDER BY coalesce(seen_at, created_at) DESC OFFSET \(count)))
            """, [.text(app), .text(user)], by: .tooMany, now: now)
    }

    /// Ends the sessions that began with an API key; of those that began before keys were noted, all of the user's.
    func endSessions(ofAPIKey key: String, user: String, app: String, now: Int64) async throws -> [EndedRow] {
        try await endSessions(
            """
            app = $3 AND user_id = $4 AND (api_key_id = $5 OR api_key_id IS NULL AND provider = 'api-key')
            """, [.text(app), .text(user), .text(key)], by: .apiKey, now: now)
    }

    private func endSessions(
        _ condition: String, _ values: [PostgresValue], by end: SessionEnd, now: Int64
    ) async throws -> [EndedRow] {
        let rows = try await sql.query(
            """
            UPDATE partita.auth_sessions SET revoked_at = $1, ended_by = $2
            WHERE revoked_at IS NULL AND greatest(expires_at, access_expires_at) > $1 AND \(condition)
            RETURNING id, app, device, provider, access_expires_at
            """, [.int(now), .text(end.rawValue)] + values
        ).decode((String, String, String, String, Int64?).self)
        let longest = Int64(ShutOut.longestToken / .milliseconds(1))
        let ended = rows.map { EndedRow(id: $0.0, device: $0.2, provider: $0.3, accessUntil: $0.4 ?? now + longest) }
        try await EndedSessionTable(sql).add(
            zip(rows, ended).map { EndedSession(app: $0.1, id: $1.id, until: $1.accessUntil) })
        return ended
    }
}
