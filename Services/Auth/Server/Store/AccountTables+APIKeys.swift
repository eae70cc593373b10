import Postgres

/// An API key of a user, without the key itself.
struct APIKeyRow: Sendable {
    var id: String
    var name: String
    var isDisabled: Bool
}

extension AccountTables {
    /// - Returns: `false`, and nothing is written, when the user has a key of that name.
    func insertAPIKey(
        _ key: APIKeyRow, hash: [UInt8], user: String, of app: String, now: Int64
    ) async throws -> Bool {
        try await sql.execute(
            """
            INSERT INTO partita.auth_api_keys (app, id, user_id, name, key_hash, created_at) VALUES ($1, $2, $3, $4, $5, $6)
            ON CONFLICT (app, user_id, name) DO NOTHING
            """, [.text(app), .text(key.id), .text(user), .text(key.name), .bytea(hash), .int(now)]) > 0
    }

    func apiKeys(user: String, of app: String) async throws -> [APIKeyRow] {
        let rows = try await sql.query(
            "SELECT id, name, is_disabled FROM partita.auth_api_keys WHERE app = $1 AND user_id = $2 ORDER BY id",
            [.text(app), .text(user)]
        ).decode((String, String, Bool).self)
        return rows.map { APIKeyRow(id: $0.0, name: $0.1, isDisabled: $0.2) }
    }

    /// The key and the user whose it is; `nil` for an unknown or disabled key.
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

    /// - Returns: whether the user has such a key.
    func setAPIKey(_ id: String, disabled: Bool, user: String, of app: String) async throws -> Bool {
        try await sql.execute(
            "UPDATE partita.auth_api_keys SET is_disabled = $4 WHERE app = $1 AND user_id = $2 AND id = $3",
            [.text(app), .text(user), .text(id), .bool(disabled)]) > 0
    }

    /// - Returns: whether the user had such a key.
    func deleteAPIKey(_ id: String, user: String, of app: String) async throws -> Bool {
        try await sql.execute(
            "DELETE FROM partita.auth_api_keys WHERE app = $1 AND user_id = $2 AND id = $3",
            [.text(app), .text(user), .text(id)]) > 0
    }
}
