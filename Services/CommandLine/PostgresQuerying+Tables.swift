import Postgres

extension PostgresQuerying {
    /// Whether a table exists; an older version, or a database without a system, lacks some.
    /// - Parameter name: As in SQL, with its schema, quoted where that is necessary.
    func hasTable(_ name: String) async throws -> Bool {
        try await query("select to_regclass($1) is not null", [.text(name)]).first?.decode(0) ?? false
    }
}
