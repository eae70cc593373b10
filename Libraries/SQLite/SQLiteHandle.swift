import Texts

#if canImport(SQLite3)
    private import SQLite3
#else
    private import CSQLite
#endif

/// The connection and its prepared statements. Used only on its database's queue, except for the deallocation with the last
/// reference.
final class SQLiteHandle: @unchecked Sendable {
    private var connection: OpaquePointer?
    private var statements: [ExactText: SQLiteStatement] = [:]
    private let cacheSize: Int

    init(_ configuration: SQLiteConfiguration) throws(SQLiteError) {
        cacheSize = configuration.statementCacheSize
        let access = configuration.isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        // Only one queue uses it, so it needs no mutex of its own.
        let result = sqlite3_open_v2(configuration.path, &connection, access | SQLITE_OPEN_NOMUTEX, nil)
        guard result == SQLITE_OK else {
            let error = Self.error(connection, result, sql: nil)
            close()
            throw error
        }
        sqlite3_extended_result_codes(connection, 1)
        sqlite3_busy_timeout(connection, Int32(clamping: Int64(configuration.busyTimeout / .milliseconds(1))))
        do {
            if !configuration.isReadOnly { try runScript("PRAGMA journal_mode = WAL") }
            try runScript("PRAGMA synchronous = \(configuration.synchronous.rawValue); PRAGMA foreign_keys = ON")
        } catch {
            close()
            throw error
        }
    }

    deinit { close() }

    func close() {
        for statement in statements.values { statement.finalize() }
        statements = [:]
        // Unlike sqlite3_close, which fails while a statement is running, this waits for it.
        sqlite3_close_v2(connection)
        connection = nil
    }

    var isAutocommit: Bool { connection == nil || sqlite3_get_autocommit(connection) != 0 }
    var changes: Int { Int(sqlite3_changes64(connection)) }
    var lastInsertedRow: Int64 { connection.map { sqlite3_last_insert_rowid($0) } ?? 0 }

    func runScript(_ sql: String) throws(SQLiteError) {
        guard connection != nil else { throw SQLiteError(.closed, "the database was closed") }
        let result = sqlite3_exec(connection, sql, nil, nil, nil)
        if result != SQLITE_OK { throw Self.error(connection, result, sql: sql) }
    }

    /// Passes the prepared statement with its bound parameters to `body`; afterwards it is reset and cleared.
    func withStatement<R>(_ sql: String, _ parameters: [SQLiteValue], _ body: (SQLiteStatement) throws -> R) throws -> R
    {
        let statement = try statement(sql)
        statement.isLent = true
        defer {
            statement.isLent = false
            statement.reset()
            if statements[sql] !== statement { statement.finalize() }
        }
        try statement.bind(parameters)
        return try body(statement)
    }

    private func statement(_ sql: String) throws(SQLiteError) -> SQLiteStatement {
        guard connection != nil else { throw SQLiteError(.closed, "the database was closed") }
        let cached = statements[sql]
        if let cached, !cached.isLent { return cached }
        var pointer: OpaquePointer?
        let result = sqlite3_prepare_v3(connection, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &pointer, nil)
        guard result == SQLITE_OK else { throw Self.error(connection, result, sql: sql) }
        guard let pointer else { throw SQLiteError(.engine, "the statement is empty", sql: sql) }
        let statement = SQLiteStatement(pointer, connection: connection, sql: sql)
        // A cached statement that is in use by an outer call isn't replaced.
        if cached == nil, cacheSize > 0 {
            if statements.count >= cacheSize { evict() }
            statements[sql] = statement
        }
        return statement
    }

    private func evict() {
        guard let index = statements.firstIndex(where: { !$0.value.isLent }) else { return }
        statements.remove(at: index).value.finalize()
    }

    static func error(_ connection: OpaquePointer?, _ result: Int32, sql: String?) -> SQLiteError {
        let message =
            connection.flatMap { sqlite3_errmsg($0) }.map { String(cString: $0) }
            ?? String(cString: sqlite3_errstr(result))
        let code: SQLiteError.Code =
            switch result & 0xff {
            case SQLITE_BUSY, SQLITE_LOCKED: .busy
            case SQLITE_CONSTRAINT: .constraint
            case SQLITE_CORRUPT, SQLITE_NOTADB: .corrupt
            case SQLITE_FULL: .full
            default: .engine
            }
        return SQLiteError(code, message, result: result, sql: sql)
    }
}

/// A prepared statement. Used only on its database's queue.
final class SQLiteStatement {
    private var pointer: OpaquePointer?
    private let connection: OpaquePointer?
    private let sql: String
    /// Whether it is in use; a nested call of the same SQL then needs a statement of its own.
    var isLent = false

    init(_ pointer: OpaquePointer, connection: OpaquePointer?, sql: String) {
        self.pointer = pointer
        self.connection = connection
        self.sql = sql
    }

    func finalize() {
        sqlite3_finalize(pointer)
        pointer = nil
    }

    func reset() {
        sqlite3_reset(pointer)  // returns the error of the last step, which was already thrown
        sqlite3_clear_bindings(pointer)
    }

    var columns: [String] {
        (0..<sqlite3_column_count(pointer)).map { sqlite3_column_name(pointer, $0).map { String(cString: $0) } ?? "" }
    }

    var isReadOnly: Bool { sqlite3_stmt_readonly(pointer) != 0 }

    func bind(_ parameters: [SQLiteValue]) throws(SQLiteError) {
        guard parameters.count == Int(sqlite3_bind_parameter_count(pointer)) else {
            throw SQLiteError(
                .parameters, "\(parameters.count) values for \(sqlite3_bind_parameter_count(pointer)) parameters",
                sql: sql)
        }
        // SQLITE_TRANSIENT: SQLite makes a copy.
        let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        for (index, parameter) in zip(Int32(1)..., parameters) {
            let result =
                switch parameter {
                case .null: sqlite3_bind_null(pointer, index)
                case .integer(let number): sqlite3_bind_int64(pointer, index, number)
                case .real(let number): sqlite3_bind_double(pointer, index, number)
                case .text(var text):
                    text.withUTF8 {
                        sqlite3_bind_text64(
                            pointer, index, UnsafeRawPointer($0.baseAddress)?.assumingMemoryBound(to: CChar.self),
                            UInt64($0.count), copied, UInt8(SQLITE_UTF8))
                    }
                // A blob without bytes has no address, and would be bound as null.
                case .blob(let bytes) where bytes.isEmpty: sqlite3_bind_zeroblob(pointer, index, 0)
                case .blob(let bytes):
                    bytes.withUnsafeBytes {
                        sqlite3_bind_blob64(pointer, index, $0.baseAddress, UInt64($0.count), copied)
                    }
                }
            if result != SQLITE_OK { throw SQLiteHandle.error(connection, result, sql: sql) }
        }
    }

    /// Reads the next row; returns `false` if there is none.
    func step() throws(SQLiteError) -> Bool {
        guard pointer != nil else { throw SQLiteError(.closed, "the database was closed") }
        switch sqlite3_step(pointer) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let result: throw SQLiteHandle.error(connection, result, sql: sql)
        }
    }

    var values: [SQLiteValue] { (0..<sqlite3_column_count(pointer)).map(value) }

    private func value(_ column: Int32) -> SQLiteValue {
        switch sqlite3_column_type(pointer, column) {
        case SQLITE_INTEGER: return .integer(sqlite3_column_int64(pointer, column))
        case SQLITE_FLOAT: return .real(sqlite3_column_double(pointer, column))
        case SQLITE_TEXT:
            let start = UnsafeRawPointer(sqlite3_column_text(pointer, column))
            let bytes = UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(pointer, column)))
            return .text(String(decoding: bytes, as: UTF8.self))
        case SQLITE_BLOB:
            let start = sqlite3_column_blob(pointer, column)
            return .blob(Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(pointer, column)))))
        default: return .null
        }
    }
}
