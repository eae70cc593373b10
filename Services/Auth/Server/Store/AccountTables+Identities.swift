import Postgres
import ServiceEngines

/// A row of `auth_identities`.
struct IdentityRow: Sendable {
    var id: String
    var provider: String
    var subject: String
    var userId: String
    var passwordHash: String?
}

extension AccountTables {
    /// - Returns: `false`, and nothing is written, when the provider has that subject already.
    func insertIdentity(_ identity: IdentityRow, of app: String, now: Int64) async throws -> Bool {
        try await sql.execute(
            """
            INSERT INTO partita.auth_identities (app, provider, subject, id, user_id, password_hash, created_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (app, provider, subject) DO NOTHING
            """,
            [
                .text(app), .text(identity.provider), .text(identity.subject), .text(identity.id),
                .text(identity.userId),
                PostgresValue(identity.passwordHash), .int(now),
            ]) > 0
    }

    func identity(_ provider: String, _ subject: String, of app: String, locked: Bool = false) async throws
        -> IdentityRow?
    {
        let rows = try await sql.query(
            """
            SELECT id, provider, subject, user_id, password_hash FROM partita.auth_identities
            WHERE app = $1 AND provider = $2 AND subject = $3\(locked ? " FOR UPDATE" : "")
            """, [.text(app), .text(provider), .text(subject)]
        ).decode((String, String, String, String, String?).self)
        return rows.first.map {
            IdentityRow(id: $0.0, provider: $0.1, subject: $0.2, userId: $0.3, passwordHash: $0.4)
        }
    }

    func identities(ofUser user: String, app: String) async throws -> [IdentityRow] {
        let rows = try await sql.query(
            """
            SELECT id, provider, subject FROM partita.auth_identities WHERE app = $1 AND user_id = $2
            ORDER BY created_at, id
            """, [.text(app), .text(user)]
        ).decode((String, String, String).self)
        return rows.map { IdentityRow(id: $0.0, provider: $0.1, subject: $0.2, userId: user) }
    }

    func setPasswordHash(_ hash: String, of subject: String, app: String) async throws {
        try await sql.execute(
            """
            UPDATE partita.auth_identities SET password_hash = $3
            WHERE app = $1 AND provider = 'local-userpass' AND subject = $2
            """, [.text(app), .text(subject), .text(hash)])
    }

    /// Gives an identity to another user.
    func moveIdentity(_ provider: String, _ subject: String, of app: String, to user: String) async throws {
        try await sql.execute(
            "UPDATE partita.auth_identities SET user_id = $4 WHERE app = $1 AND provider = $2 AND subject = $3",
            [.text(app), .text(provider), .text(subject), .text(user)])
    }
}

/// What a token in a mail is for.
enum EmailTokenKind: String, Sendable { case confirm, reset }

extension AccountTables {
    /// How many tokens of a kind work for a subject at a time.
    private static let emailTokens = 5

    /// Stores a token. The newest ones of that kind and subject work beside it: anybody can ask for a mail, and must not make the link
    /// useless that its owner is about to open.
    func addEmailToken(
        _ kind: EmailTokenKind, id: String, secretHash: [UInt8], subject: String, of app: String, expiresAt: Int64
    ) async throws {
        try await sql.execute(
            """
            DELETE FROM partita.auth_email_tokens WHERE app = $1 AND subject = $2 AND kind = $3 AND id NOT IN (
                SELECT id FROM partita.auth_email_tokens WHERE app = $1 AND subject = $2 AND kind = $3
                ORDER BY expires_at DESC, id DESC LIMIT $4)
            """, [.text(app), .text(subject), .text(kind.rawValue), .int(Int64(Self.emailTokens - 1))])
        try await sql.execute(
            """
            INSERT INTO partita.auth_email_tokens (app, id, kind, subject, secret_hash, expires_at)
            VALUES ($1, $2, $3, $4, $5, $6)
            """,
            [.text(app), .text(id), .text(kind.rawValue), .text(subject), .bytea(secretHash), .int(expiresAt)])
    }

    /// Whether a token is valid.
    func hasEmailToken(
        _ kind: EmailTokenKind, id: String, secretHash: [UInt8], of app: String, now: Int64
    ) async throws -> Bool {
        try await !sql.query(
            """
            SELECT FROM partita.auth_email_tokens
            WHERE app = $1 AND id = $2 AND kind = $3 AND secret_hash = $4 AND expires_at > $5
            """, [.text(app), .text(id), .text(kind.rawValue), .bytea(secretHash), .int(now)]
        ).isEmpty
    }

    /// Deletes a token and the others of its kind and subject, and returns the subject, so that it works once.
    ///
    /// - Returns: the subject that it was for; `nil` when there is no such token, or it has expired.
    func takeEmailToken(
        _ kind: EmailTokenKind, id: String, secretHash: [UInt8], of app: String, now: Int64
    ) async throws -> String? {
        let rows = try await sql.query(
            """
            DELETE FROM partita.auth_email_tokens
            WHERE app = $1 AND id = $2 AND kind = $3 AND secret_hash = $4 AND expires_at > $5 RETURNING subject
            """, [.text(app), .text(id), .text(kind.rawValue), .bytea(secretHash), .int(now)]
        ).decode(String.self)
        guard let subject = rows.first else { return nil }
        try await sql.execute(
            "DELETE FROM partita.auth_email_tokens WHERE app = $1 AND subject = $2 AND kind = $3",
            [.text(app), .text(subject), .text(kind.rawValue)])
        return subject
    }

    func deleteExpiredEmailTokens(now: Int64) async throws {
        try await sql.deleteOldest(
            from: "partita.auth_email_tokens", by: "expires_at", where: "expires_at <= $1", [.int(now)])
    }

    func deleteExpiredRedirects(now: Int64) async throws {
        try await sql.deleteOldest(
            from: "partita.auth_redirects", by: "expires_at", where: "expires_at <= $1", [.int(now)])
    }

    /// As long as an access token lives, its session can be ended.
    func deleteExpiredSessions(now: Int64) async throws {
        let end = "greatest(expires_at, access_expires_at)"
        try await sql.deleteOldest(from: "partita.auth_sessions", by: end, where: "\(end) <= $1", [.int(now)])
    }

    func deleteExpiredEnds() async throws { try await EndedSessionTable(sql).deleteExpired() }
}
