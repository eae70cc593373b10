import Postgres

/// A row of `auth_signing_keys`.
struct SigningKeyRow: Sendable {
    var id: String
    /// As `KeyRing` wrote it.
    var privateKey: String
    /// Milliseconds since 1970.
    var signsFrom: Int64
    /// No token that it signed is valid after this, in milliseconds since 1970.
    var expiresAt: Int64
}

extension AccountTables {
    /// Locks the keys against other processes to the end of the transaction.
    func lockSigningKeys() async throws {
        try await sql.execute("LOCK TABLE partita.auth_signing_keys IN SHARE ROW EXCLUSIVE MODE")
    }

    /// All keys, the one that begins to sign last at the end.
    func signingKeys() async throws -> [SigningKeyRow] {
        let rows = try await sql.query(
            "SELECT id, private_key, signs_from, expires_at FROM partita.auth_signing_keys ORDER BY signs_from, id"
        ).decode((String, String, Int64, Int64).self)
        return rows.map {
            SigningKeyRow(id: $0.0, privateKey: $0.1, signsFrom: $0.2, expiresAt: $0.3)
        }
    }

    func insertSigningKey(_ key: SigningKeyRow, now: Int64) async throws {
        try await sql.execute(
            """
            INSERT INTO partita.auth_signing_keys (id, private_key, created_at, signs_from, expires_at)
            VALUES ($1, $2, $3, $4, $5)
            """, [.text(key.id), .text(key.privateKey), .int(now), .int(key.signsFrom), .int(key.expiresAt)])
    }

    func setPrivateKey(_ text: String, of id: String) async throws {
        try await sql.execute(
            "UPDATE partita.auth_signing_keys SET private_key = $2 WHERE id = $1", [.text(id), .text(text)])
    }

    func deleteSigningKey(_ id: String) async throws {
        try await sql.execute("DELETE FROM partita.auth_signing_keys WHERE id = $1", [.text(id)])
    }
}
