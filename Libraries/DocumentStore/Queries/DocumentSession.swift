import DocumentModel
import EventLoop
import Postgres
import QueryLanguage
import SyncEngine

/// A transaction on the documents of an app: it sees its own writes at once, others see them after the commit.
///
/// Documents are locked as they are written, partitions just before the commit. The session ends with the closure that it was
/// passed to.
public actor DocumentSession {
    let store: DocumentStore
    let storage: AppStorage
    let transaction: PostgresTransaction
    /// Whether later statements of the session must be able to read what it wrote.
    nonisolated let flushes: Bool
    var plan: TablePlan
    /// The review of the writes in flight; `nil` if they may see everything.
    var review: (any WriteReview)?
    /// The time of the session, which all its calls share: milliseconds since 1970.
    public nonisolated let now: Int64
    var stamp: WriteStamp { .server(at: now) }
    private var isPrepared = false
    private(set) var isEnded = false

    /// The documents that this transaction has read, in the state that it read.
    nonisolated let reads = ReadTrace()
    private let lifetime: Duration
    /// The limit of the transaction's only operation.
    private let limit: TimeLimit
    private let deadline: ContinuousClock.Instant

    init(
        store: DocumentStore, storage: AppStorage, transaction: PostgresTransaction, flushes: Bool,
        lifetime: Duration = DocumentStore.transactionLifetime, limit: TimeLimit = TimeLimit(nil)
    ) {
        self.limit = limit
        self.lifetime = lifetime
        deadline = .now + lifetime
        self.store = store
        self.storage = storage
        self.transaction = transaction
        self.flushes = flushes
        plan = TablePlan(storage: storage)
        now = RepeatableCall.now(store.clock)
    }

    /// A collection, within this transaction.
    public nonisolated func collection(_ name: String, database: String) -> DocumentCollection {
        DocumentCollection(
            store: store, app: storage.app, namespace: .init(database: database, collection: name), session: self)
    }

    /// The statements that disable the triggers for external writers, and end an abandoned transaction, so that its locks don't remain; sent
    /// once, with the first statement that needs them.
    private var preparation: [PostgresStatement] {
        if isPrepared { return [] }
        isPrepared = true
        let begin = PostgresStatement(
            "\(CommitSQL.begin), set_config('idle_in_transaction_session_timeout', $2, true)",
            [
                .text("\(DocumentStore.lockTimeout.limitMilliseconds)ms"), .text("\(lifetime.limitMilliseconds)ms"),
            ])
        return [begin] + (limit.statement.map { [$0] } ?? [])
    }

    /// Must be called before each use of the transaction.
    func checkLifetime() throws(DocumentStoreError) {
        if isEnded { throw DocumentStoreError(.sessionEnded, "the transaction has ended") }
        if ContinuousClock.now > deadline {
            throw DocumentStoreError(.conflict, "the transaction exceeded its lifetime and was aborted", mongoCode: 290)
        }
    }

    /// Must be called before a cursor is opened in the transaction.
    func prepare() async throws {
        try checkLifetime()
        for statement in preparation { _ = try await transaction.send(statement) }
    }

    func run(_ statement: PostgresStatement) async throws -> PostgresRows {
        try checkLifetime()
        let first = preparation
        return try await transaction.pipeline(first + [statement])[first.count]
    }

    /// Runs one of the transaction's operations within its own time limit.
    nonisolated func limited<R>(by limit: TimeLimit, _ body: () async throws -> R) async throws -> R {
        guard let statement = limit.statement else { return try await body() }
        _ = try await run(statement)
        do {
            let result = try await body()
            _ = try await run(TimeLimit.end)
            return result
        } catch {
            // If Postgres has aborted the transaction, this statement fails too; the original error is thrown.
            _ = try? await run(TimeLimit.end)
            throw error
        }
    }

    // MARK: Reading

    /// Locks the documents of a condition in the order of their `_id`s and adds them to the plan.
    ///
    /// - Parameter after: Only greater ids are locked.
    /// - Returns: the keys of all that were locked.
    func lock(
        _ table: CollectionTable, where condition: String, _ parameters: [PostgresValue], after: String?, limit: Int
    ) async throws -> [WritePlan.Key] {
        var sql = "select \(DocumentRow.columns) from \(table.name) t where (\(condition))"
        var parameters = parameters
        if let after {
            parameters.append(.text(after))
            sql += " and t._id > $\(parameters.count)"
        }
        sql += " order by t._id limit \(limit) for no key update"
        var keys: [WritePlan.Key] = []
        for row in try await run(PostgresStatement(sql, parameters)) {
            let id = try row.decode(0, as: String.self)
            let key = WritePlan.Key(table.namespace, id: id)
            if plan[key] == nil {
                let found = try DocumentRow(row)
                if let found, reads.isOutdated(key, by: found.body) {
                    throw DocumentStoreError(
                        .conflict, "WriteConflict: a document that this transaction has read was changed meanwhile",
                        mongoCode: 112)
                }
                plan.hold(table, id: id, row: found)
                try checkSize()
            }
            keys.append(key)
        }
        return keys
    }

    /// Locks one document, if it exists.
    func lock(_ table: CollectionTable, id: String) async throws -> WritePlan.Key? {
        let key = WritePlan.Key(table.namespace, id: id)
        if let held = plan[key] { return held.current == nil ? nil : key }
        return try await lock(table, where: "t._id = $1", [.text(id)], after: nil, limit: 1).first
    }

    // MARK: Writing

    /// - Throws: `DocumentStoreError` (`transactionTooLarge`) when the documents exceed the transaction's memory limit.
    func checkSize() throws(DocumentStoreError) { try plan.checkSize(store.maximumTransactionBytes) }

    /// Replaces or removes a document.
    ///
    /// - Returns: whether anything has changed.
    func write(
        _ document: Document?, over key: WritePlan.Key, in table: CollectionTable, description: UpdateDescription,
        operation: ChangeEvent.OperationType, origin: ChangeEvent.Origin? = nil
    ) throws -> Bool {
        try checkSize()
        return try plan.write(
            document, over: key, in: table, description: description, operation: operation, by: stamp, origin: origin)
    }

    /// Runs one of several writes: if it is refused, it is undone, and the transaction continues.
    func atomically<R: Sendable>(_ body: @Sendable (isolated DocumentSession) async throws -> R) async throws -> R {
        let before = plan
        _ = try await run("savepoint one_write")
        do {
            let result = try await body(self)
            try await flush()
            _ = try await run("release savepoint one_write")
            return result
        } catch {
            _ = try await run("rollback to savepoint one_write")
            // Who reviews the writes also sees what a refused one has found.
            let met = plan.met
            plan = before
            plan.met = met
            guard let error = error as? PostgresError else { throw error }
            throw await store.translated(error)
        }
    }

    /// Writes the changes to the tables so that later statements can read them, if there may be any.
    func flush() async throws {
        guard flushes else { return }
        let statements = plan.flushStatements()
        if statements.isEmpty { return }
        let first = preparation
        _ = try await transaction.pipeline(first + statements)
        plan.markFlushed()
    }

    /// The statements that number and write all changes; the transaction's owner sends them with the commit.
    func finish() -> (statements: [PostgresStatement], numbering: Int) {
        isEnded = true
        if plan.isEmpty { return ([], 0) }
        let first = preparation
        return (first + [plan.numbering] + plan.statements(), first.count)
    }
}
