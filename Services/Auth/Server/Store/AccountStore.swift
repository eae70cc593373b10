import Postgres

/// Accounts in Postgres.
struct AccountStore: Sendable {
    private let client: PostgresClient
    private let recording: @Sendable (PostgresTransaction) async throws -> Void

    /// - Parameter recording: writes a record of what an administrator does, in the transaction of the change.
    init(
        client: PostgresClient, recording: @escaping @Sendable (PostgresTransaction) async throws -> Void = { _ in }
    ) {
        self.client = client
        self.recording = recording
    }

    /// The tables outside of a transaction: each statement commits on its own.
    var tables: AccountTables { AccountTables(sql: client) }

    /// Runs statements together: committed when the body returns, rolled back when it throws. Events written inside go with it.
    nonisolated(nonsending) func transaction<Result>(
        _ body: nonisolated(nonsending) (AccountTables) async throws -> Result
    ) async throws -> Result {
        try await client.withTransaction { transaction in
            let result = try await body(AccountTables(sql: transaction))
            try await recording(transaction)
            return result
        }
    }
}

/// The statements on auth's tables, inside a transaction or outside.
struct AccountTables: Sendable {
    let sql: any PostgresQuerying
}
