import Postgres

/// A token of the administration API.
struct AdminTokenRow: Sendable {
    enum State: String, Sendable { case active, expired, revoked }

    var id: String
    var name: String
    /// The digest of its secret part.
    var hash: [UInt8]
    var roles: Set<AdminRole>
    var app: String?
    var createdAt: Int64
    var expiresAt: Int64?
    var revokedAt: Int64?

    /// In the order of `AdminRole`.
    var roleNames: [String] { AdminRole.allCases.filter(roles.contains).map(\.rawValue) }

    func state(at now: Int64) -> State {
        if revokedAt != nil { return .revoked }
        return expiresAt.map { $0 <= now } == true ? .expired : .active
    }
}

extension AccountTables {
    func insertAdminToken(_ row: AdminTokenRow) async throws {
        try await sql.execute(
            """
            INSERT INTO partita.auth_admin_tokens (id, name, secret_hash, roles, app, created_at, expires_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7)
            """,
            [
                .text(row.id), .text(row.name), .bytea(row.hash), .text(row.roleNames.joined(separator: ",")),
                PostgresValue(row.app), .int(row.createdAt), PostgresValue(row.expiresAt),
            ])
    }

    func adminToken(_ id: String) async throws -> AdminTokenRow? {
        try await adminTokens("WHERE id = $1", [.text(id)]).first
    }

    /// All of them, the newest first.
    func adminTokens() async throws -> [AdminTokenRow] { try await adminTokens("ORDER BY created_at DESC, id", []) }

    private func adminTokens(_ rest: String, _ values: [PostgresValue]) async throws -> [AdminTokenRow] {
        let rows = try await sql.query(
            """
            SELECT id, name, secret_hash, roles, app, created_at, expires_at, revoked_at
            FROM partita.auth_admin_tokens \(rest)
            """, values
        ).decode((String, String, [UInt8], String, String?, Int64, Int64?, Int64?).self)
        return rows.map {
            AdminTokenRow(
                id: $0.0, name: $0.1, hash: $0.2,
                roles: Set($0.3.split(separator: ",").compactMap { AdminRole(rawValue: String($0)) }), app: $0.4,
                createdAt: $0.5, expiresAt: $0.6, revokedAt: $0.7)
        }
    }

    /// - Returns: whether there was one that wasn't revoked.
    func revokeAdminToken(_ id: String, now: Int64) async throws -> Bool {
        try await sql.execute(
            "UPDATE partita.auth_admin_tokens SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL",
            [.text(id), .int(now)]) > 0
    }
}
