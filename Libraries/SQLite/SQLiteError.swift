/// An error of SQLite, or of decoding a row.
///
/// `description` is safe to log. The library's text and the statement, which may contain data, are in `debugDescription`.
public struct SQLiteError: Error, Sendable, Hashable {
    /// The kinds of failure. Not an enumeration, so that a new kind doesn't break a `switch`.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String { case engine, busy, constraint, corrupt, full, closed, parameters, decoding, schema }
        private let base: Base
        private init(_ base: Base) { self.base = base }

        /// Any result without a kind of its own; `result` has the number.
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
        /// The number of values differs from the number of parameters.
        public static let parameters = Code(.parameters)
        /// A column is missing, null, or not of the requested type.
        public static let decoding = Code(.decoding)
        /// The file was written by a newer version of the program.
        public static let schema = Code(.schema)

        public var description: String { base.rawValue }
    }

    public var code: Code
    /// SQLite's extended result code; 0 if the error isn't SQLite's.
    public var result: Int32
    /// The text of SQLite or of this module. It may contain data.
    public var message: String
    public var sql: String?

    public init(_ code: Code, _ message: String, result: Int32 = 0, sql: String? = nil) {
        self.code = code
        self.message = message
        self.result = result
        self.sql = sql
    }

    /// Whether the same transaction may succeed when it is retried.
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
