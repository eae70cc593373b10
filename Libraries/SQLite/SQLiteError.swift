/// What SQLite refused, or what a row didn't hold.
///
/// `description` is safe to log; the library's text and the statement, which may quote data, are in `debugDescription`.
public struct SQLiteError: Error, Sendable, Hashable {
    /// Kinds of failure. A struct, so that a new kind breaks no `switch`.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String { case engine, busy, constraint, corrupt, full, closed, parameters, decoding, schema }
        private let base: Base
        private init(_ base: Base) { self.base = base }

        /// Any result that has no kind of its own here; `result` has the number.
        public static let engine = Code(.engine)
        /// Another connection held the lock longer than the busy timeout.
        public static let busy = Code(.busy)
        /// A constraint refused the row.
        public static let constraint = Code(.constraint)
        /// The file is damaged, or isn't a database.
        public static let corrupt = Code(.corrupt)
        /// The disk is full.
        public static let full = Code(.full)
        /// The database was closed.
        public static let closed = Code(.closed)
        /// The number of values isn't the number of parameters.
        public static let parameters = Code(.parameters)
        /// A column is missing, null, or not of the type that was asked for.
        public static let decoding = Code(.decoding)
        /// The file was written by a newer version of the program.
        public static let schema = Code(.schema)

        public var description: String { base.rawValue }
    }

    public var code: Code
    /// SQLite's extended result code; 0 where the failure is ours.
    public var result: Int32
    /// The library's text, or ours. May quote data.
    public var message: String
    public var sql: String?

    public init(_ code: Code, _ message: String, result: Int32 = 0, sql: String? = nil) {
        self.code = code
        self.message = message
        self.result = result
        self.sql = sql
    }

    /// Whether the same transaction, begun again, may succeed.
    public var isRetriable: Bool { code == .busy }
}

extension SQLiteError: CustomStringConvertible, CustomDebugStringConvertible {
    public var description: String {
        result == 0 ? "SQLiteError(\(code), \(message))" : "SQLiteError(\(code), result: \(result))"
    }
    public var debugDescription: String {
        "SQLiteError(\(code), result: \(result), \(message)\(sql.map { ", sql: \($0)" } ?? ""))"
    }
}
