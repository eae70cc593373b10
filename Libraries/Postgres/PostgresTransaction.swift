private import Clibpq

/// An open transaction, on a connection of its own. It must not be used after the closure that it was passed to.
public struct PostgresTransaction: PostgresQuerying {
    let connection: PostgresConnection

    public func query(_ statement: PostgresStatement) async throws -> PostgresRows {
        try await connection.query(statement)
    }

    /// Sends all statements in one write. A failure skips the rest and fails the transaction.
    public func pipeline(_ statements: [PostgresStatement], in mode: PostgresPipelineMode) async throws
        -> [PostgresRows]
    {
        if case .explicit = mode { return try await connection.pipeline(statements, in: .implicit) }
        return try await connection.pipeline(statements, in: mode)
    }

    public func results(of statements: [PostgresStatement]) async throws -> [Result<PostgresRows, PostgresError>] {
        try await connection.results(of: statements)
    }

    /// Sends a statement without waiting for the answers of those before it, nor for its own.
    public func send(_ sql: String, _ parameters: [PostgresValue] = []) async throws -> PostgresReply {
        try await connection.send(PostgresStatement(sql, parameters))
    }

    /// Sends a statement without waiting for the answers of those before it, nor for its own.
    public func send(_ statement: PostgresStatement) async throws -> PostgresReply {
        try await connection.send(statement)
    }

    /// Sends statements in one write without waiting for any answer.
    public func send(_ statements: [PostgresStatement]) async throws -> [PostgresReply] {
        try await connection.send(statements)
    }

    /// Sends the last statements and COMMIT in one write, and returns the statements' rows when the transaction is committed.
    /// Nothing may be sent afterwards.
    public func commit(with statements: [PostgresStatement]) async throws -> [PostgresRows] {
        try await connection.commit(with: statements)
    }

    /// The rows of a SELECT through a cursor: at most two batches are in memory, each of `batch` rows, or fewer if they are large.
    public func stream(_ sql: String, _ parameters: [PostgresValue] = [], batch: Int = 256) -> PostgresRowStream {
        PostgresRowStream(connection: connection, statement: PostgresStatement(sql, parameters), batch: max(batch, 1))
    }

    /// Copies rows into a table: see ``PostgresClient/copy(into:columns:_:)``.
    @discardableResult
    nonisolated(nonsending) public func copy(
        into table: String, columns: [String],
        _ body: nonisolated(nonsending) (inout PostgresCopyWriter) async throws -> Void
    ) async throws -> Int {
        try await connection.copy(into: table, columns: columns, body)
    }

    /// Runs a script of several statements without parameters, by the simple protocol.
    public func runScript(_ sql: String) async throws { try await connection.runScript(sql) }
}

extension PostgresConnection {
    /// Runs `body` in a transaction: BEGIN is sent with its first statement, COMMIT when it returns, ROLLBACK when it throws. No
    /// other caller may use the connection meanwhile.
    @discardableResult
    nonisolated(nonsending) public func withTransaction<R>(
        isolation: PostgresIsolation = .readCommitted,
        _ body: nonisolated(nonsending) (PostgresTransaction) async throws -> R
    ) async throws -> R {
        phase.withLock { $0 = .deferred(isolation.begin) }
        let result: R
        do {
            result = try await body(PostgresTransaction(connection: self))
        } catch {
            if phase.withLock({ $0.end() }) { await rollBack() }
            throw error
        }
        if phase.withLock({ $0.end() }) { _ = try await sendCommit(with: []) }
        return result
    }

    func commit(with statements: [PostgresStatement]) async throws -> [PostgresRows] {
        if statements.isEmpty, !phase.withLock({ $0.isOpen }) { return [] }
        let rows = try await sendCommit(with: statements)
        phase.withLock { $0 = .none }
        return rows
    }

    private func sendCommit(with statements: [PostgresStatement]) async throws -> [PostgresRows] {
        let group = try enqueue(statements + ["COMMIT"])
        // The commit was sent: even a cancelled task waits for its outcome.
        await outcome(of: group)
        do {
            let rows = try Self.rows(of: group)
            if rows.last?.commandTag == "COMMIT" { return rows.dropLast() }
        } catch let error as PostgresError where !error.isInFailedTransaction { throw error }
        throw PostgresError(
            .transactionRolledBack, "a statement of the transaction had failed", underlying: transactionFailure)
    }

    private func rollBack() async {
        // A connection that can't roll back is lost, and its transaction with it.
        guard let group = try? enqueue(["ROLLBACK"]) else { return }
        await outcome(of: group)
        if group.failure != nil { lose(PostgresError(.connectionLost, "ROLLBACK failed", underlying: group.failure)) }
    }

    /// Prepares the connection for the next holder: waits for the answers to what was sent, and rolls back a transaction that was
    /// left open.
    func endLease() async {
        phase.withLock { $0 = .none }
        guard mode == .pipeline else {
            if mode != .closed { lose(PostgresError(.connectionLost, "left in the middle of a COPY")) }
            return
        }
        if !pending.isEmpty {
            guard let group = try? enqueue([]) else { return }
            await outcome(of: group)
        }
        guard let handle, pending.isEmpty else { return }
        // libpq reports the transaction's state only when it is idle; after the last Sync it needs one more call for that.
        while let result = PQgetResult(handle) { PQclear(result) }
        if PQtransactionStatus(handle) != PQTRANS_IDLE { await rollBack() }
    }
}

/// The state of a connection's transaction, from its owner's view.
enum TransactionPhase: Sendable {
    /// There is no transaction, or it has ended.
    case none
    /// The transaction has begun, but its BEGIN will be sent with the first statements.
    case deferred(String)
    case open

    var isOpen: Bool { if case .open = self { true } else { false } }

    mutating func takeBegin() -> String? {
        guard case .deferred(let begin) = self else { return nil }
        self = .open
        return begin
    }

    /// Ends the transaction; returns whether its end has to be sent to the server, which isn't the case if nothing was sent.
    mutating func end() -> Bool {
        defer { self = .none }
        return isOpen
    }
}
