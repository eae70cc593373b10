import Postgres

/// An extension of Postgres that is made when something needs it for the first time.
enum PostgresExtension {
    /// - Parameter purpose: What needs it, as the error names it.
    /// - Throws: `DocumentStoreError` (115) if only an administrator can make it.
    static func ensure(_ name: String, for purpose: String, on connection: some PostgresQuerying) async throws {
        let present = try await connection.query("select from pg_extension where extname = $1", [.text(name)])
        if present.count > 0 { return }
        do {
            try await connection.execute("create extension if not exists \(name.postgresIdentifier) schema public")
        } catch let error as PostgresError where !error.isUniqueViolation {
            throw DocumentStoreError(
                .notSupported,
                "\(purpose) needs Postgres' extension \(name), which can't be created here: an administrator has to "
                    + "(create extension \(name))", mongoCode: 115, underlying: error)
        }
    }
}
