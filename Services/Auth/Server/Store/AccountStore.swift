import Postgres

/// Accounts in Postgres.
struct AccountStore: Sendable {
    private let client: PostgresClient

    init(client: PostgresClient) { self.client = client }

    /// The tables outside of a transaction: each statement commits on its own.
    var tables: AccountTables { AccountTables(sql: client) }

    /// Runs statements together: committed when the body returns, rolled back when it throws. Events written inside go with it.
    nonisolated(nonsending) func transaction<Result>(
        _ body: nonisolated(nonsending) (AccountTables) async throws -> Result
    ) async throws -> Result {
        try await client.withTransaction { transaction in try await body(AccountTables(sql: transaction)) }
    }
}

/// The statements on auth's tables, inside a transaction or outside.
struct AccountTables: Sendable {
    let sql: any PostgresQuerying
}
