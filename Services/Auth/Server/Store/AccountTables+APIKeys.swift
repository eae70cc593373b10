import Postgres

/// An API key of a user, without the key itself.
struct APIKeyRow: Sendable {
    var id: String
    var name: String
    var isDisabled: Bool
}

extension AccountTables {
    /// - Parameter session: the session that makes it.
    /// - Returns: `false`, and nothing is written, when the user has a key of that name.
    func insertAPIKey(
        _ key: APIKeyRow, hash: [UInt8], user: String, of app: String, session: String, now: Int64
    ) async throws -> Bool {
        try await sql.execute(
            """
            INSERT INTO partita.auth_api_keys (app, id, user_id, name, key_hash, created_at, made_by)
            VALUES ($1, $2, $3, $4, $5, $6, (SELECT api_key_id FROM partita.auth_sessions WHERE id = $7))
            ON CONFLICT (app, user_id, name) DO NOTHING
            """,
            [
                .text(app), .text(key.id), .text(user), .text(key.name), .bytea(hash), .int(now), .text(session),
            ]) > 0
    }

    func apiKeys(user: String, of app: String) async throws -> [APIKeyRow] {
        let rows = try await sql.query(
            "SELECT id, name, is_disabled FROM partita.auth_api_keys WHERE app = $1 AND user_id = $2 ORDER BY id",
            [.text(app), .text(user)]
        ).decode((String, String, Bool).self)
        return rows.map { APIKeyRow(id: $0.0, name: $0.1, isDisabled: $0.2) }
    }

    /// The key and its user; `nil` for an unknown or disabled key.
    func apiKey(hash: [UInt8], of app: String) async throws -> (id: String, user: String)? {
        try await sql.query(
            "SELECT id, user_id FROM partita.auth_api_keys WHERE app = $1 AND key_hash = $2 AND NOT is_disabled",
            [.text(app), .bytea(hash)]
        ).decode((String, String).self).first.map { (id: $0.0, user: $0.1) }
    }

    /// Disables all keys of a user.
    func disableAPIKeys(ofUser user: String, app: String) async throws {
        try await sql.execute(
            "UPDATE partita.auth_api_keys SET is_disabled = true WHERE app = $1 AND user_id = $2",
            [.text(app), .text(user)])
    }

    /// A key, and all that were made by sessions that began with it or with one of those. `$1` app, `$2` user, `$3` key.
    private static let family = """
        WITH RECURSIVE family AS (
            SELECT id FROM partita.auth_api_keys WHERE app = $1 AND user_id = $2 AND id = $3
            UNION SELECT k.id FROM partita.auth_api_keys k JOIN family f ON k.made_by = f.id
                WHERE k.app = $1 AND k.user_id = $2
        )
        """

    /// - Returns: whether the user has such a key.
    func enableAPIKey(_ id: String, user: String, of app: String) async throws -> Bool {
        try await sql.execute(
            "UPDATE partita.auth_api_keys SET is_disabled = false WHERE app = $1 AND user_id = $2 AND id = $3",
            [.text(app), .text(user), .text(id)]) > 0
    }

    /// Disables a key, and those that it made.
    /// - Returns: their ids; none when the user has no such key.
    func disableAPIKey(_ id: String, user: String, of app: String) async throws -> [String] {
        try await sql.query(
            """
            \(Self.family)
            UPDATE partita.auth_api_keys k SET is_disabled = true FROM family f WHERE k.app = $1 AND k.id = f.id
            RETURNING k.id
            """, [.text(app), .text(user), .text(id)]
        ).decode(String.self)
    }

    /// Deletes a key, and those that it made.
    /// - Returns: their ids; none when the user had no such key.
    func deleteAPIKey(_ id: String, user: String, of app: String) async throws -> [String] {
        try await sql.query(
            """
            \(Self.family)
            DELETE FROM partita.auth_api_keys k USING family f WHERE k.app = $1 AND k.id = f.id RETURNING k.id
            """, [.text(app), .text(user), .text(id)]
        ).decode(String.self)
    }
}
