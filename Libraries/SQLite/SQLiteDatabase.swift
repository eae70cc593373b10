import Dispatch

#if canImport(SQLite3)
    private import SQLite3
#else
    private import CSQLite
#endif

/// A database file, in WAL mode with foreign keys on. All accesses run on a queue of its own.
///
/// Use one `transaction` for statements that belong together: its body is synchronous, so no other statement runs between them.
public actor SQLiteDatabase {
    private let executor: DatabaseExecutor
    private let handle: SQLiteHandle

    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private init(executor: DatabaseExecutor, handle: SQLiteHandle) {
        self.executor = executor
        self.handle = handle
    }

    /// Opens the file, or creates it.
    public static func open(_ configuration: SQLiteConfiguration) async throws -> SQLiteDatabase {
        let executor = DatabaseExecutor(label: "sqlite")
        let handle = try await withCheckedThrowingContinuation { continuation in
            executor.queue.async { continuation.resume(with: Result { try SQLiteHandle(configuration) }) }
        }
        return SQLiteDatabase(executor: executor, handle: handle)
    }

    /// Opens the file, or creates it, with the default configuration.
    public static func open(path: String) async throws -> SQLiteDatabase {
        try await open(SQLiteConfiguration(path: path))
    }

    /// Closes the file; every later call throws ``SQLiteError/Code/closed``. Without it, the file is closed with the last
    /// reference.
    public func close() { handle.close() }

    // MARK: Statements

    /// Runs one statement and returns its rows.
    public func query(_ sql: String, _ parameters: [SQLiteValue] = []) throws -> [SQLiteRow] {
        var rows: [SQLiteRow] = []
        try handle.withStatement(sql, parameters) { statement in
            let columns = statement.columns
            while try statement.step() { rows.append(SQLiteRow(columns: columns, values: statement.values)) }
        }
        return rows
    }

    /// Runs one statement and passes each row to `body`; stops when `body` throws.
    public func forEach(_ sql: String, _ parameters: [SQLiteValue] = [], _ body: (SQLiteRow) throws -> Void) throws {
        try handle.withStatement(sql, parameters) { statement in
            let columns = statement.columns
            while try statement.step() { try body(SQLiteRow(columns: columns, values: statement.values)) }
        }
    }

    /// Runs one statement and returns how many rows it inserted, updated or deleted.
    @discardableResult
    public func execute(_ sql: String, _ parameters: [SQLiteValue] = []) throws -> Int {
        try handle.withStatement(sql, parameters) { statement in
            while try statement.step() {}
            return statement.isReadOnly ? 0 : handle.changes
        }
    }

    /// Runs several statements without parameters.
    public func runScript(_ sql: String) throws { try handle.runScript(sql) }

    /// The `rowid` of the last insert.
    public var lastInsertedRow: Int64 { handle.lastInsertedRow }

    // MARK: Transactions

    /// Runs `body` in a transaction that may write (BEGIN IMMEDIATE): committed when it returns, rolled back when it throws.
    /// Inside another transaction it is a savepoint.
    @discardableResult
    public func transaction<R: Sendable>(_ body: @Sendable (isolated SQLiteDatabase) throws -> R) throws -> R {
        try withTransaction(begin: "BEGIN IMMEDIATE", body)
    }

    /// Runs `body` on one snapshot of the database.
    public func snapshot<R: Sendable>(_ body: @Sendable (isolated SQLiteDatabase) throws -> R) throws -> R {
        try withTransaction(begin: "BEGIN", body)
    }

    private func withTransaction<R>(begin: String, _ body: (isolated SQLiteDatabase) throws -> R) throws -> R {
        let isOuter = handle.isAutocommit
        try execute(isOuter ? begin : "SAVEPOINT inner_transaction")
        do {
            let result = try body(self)
            try execute(isOuter ? "COMMIT" : "RELEASE inner_transaction")
            return result
        } catch {
            // A full disk and some other failures roll back automatically.
            if !handle.isAutocommit {
                if isOuter {
                    try execute("ROLLBACK")
                } else {
                    try execute("ROLLBACK TO inner_transaction")
                    try execute("RELEASE inner_transaction")
                }
            }
            throw error
        }
    }

    /// Migrates the schema to the newest version: `migrations[n]` leads from version `n` to `n + 1`. The version is stored in the
    /// file.
    ///
    /// Throws ``SQLiteError/Code/schema`` if the file is newer than the program.
    public func migrate(_ migrations: [String]) throws {
        try transaction { database in
            let version = try database.query("PRAGMA user_version").first?.decode(0, as: Int.self) ?? 0
            guard version <= migrations.count else {
                throw SQLiteError(.schema, "the file has version \(version), the program knows \(migrations.count)")
            }
            for migration in migrations[version...] { try database.runScript(migration) }
            try database.runScript("PRAGMA user_version = \(migrations.count)")
        }
    }
}

/// A serial queue as an executor, because SQLite waits for the disk, which must not block Swift's own threads.
final class DatabaseExecutor: SerialExecutor {
    let queue: DispatchQueue

    init(label: String) { queue = DispatchQueue(label: label) }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }
}
