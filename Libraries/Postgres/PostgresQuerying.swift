/// An object that runs statements: the client, a connection, or a transaction.
public protocol PostgresQuerying: Sendable {
    /// Runs one statement; outside a transaction it is committed when this returns.
    func query(_ statement: PostgresStatement) async throws -> PostgresRows

    /// Sends all statements in one write and returns their rows in order, or throws the first failure, with its `statementIndex`.
    func pipeline(_ statements: [PostgresStatement], in mode: PostgresPipelineMode) async throws -> [PostgresRows]

    /// Sends all statements in one write, and returns the result of each. A failure doesn't affect the others, except in a
    /// transaction.
    func results(of statements: [PostgresStatement]) async throws -> [Result<PostgresRows, PostgresError>]
}

extension PostgresQuerying {
    /// Runs one statement; outside a transaction it is committed when this returns.
    public func query(_ sql: String, _ parameters: [PostgresValue] = []) async throws -> PostgresRows {
        try await query(PostgresStatement(sql, parameters))
    }

    /// Runs one statement and returns how many rows it affected.
    @discardableResult
    public func execute(_ sql: String, _ parameters: [PostgresValue] = []) async throws -> Int {
        try await query(PostgresStatement(sql, parameters)).affectedRows
    }

    /// Sends all statements in one write, as one implicit transaction: all or nothing.
    public func pipeline(_ statements: [PostgresStatement]) async throws -> [PostgresRows] {
        try await pipeline(statements, in: .implicit)
    }
}
