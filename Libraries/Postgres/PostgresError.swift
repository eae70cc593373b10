/// A failure of this library or of the server.
///
/// `description` is safe to log: it names the code, the SQLSTATE, the object and the cause, never values. Messages of the server
/// that may quote data, and the statement, are only in `debugDescription` and in the fields.
public struct PostgresError: Error, Sendable {
    /// Kinds of failure. A struct, so that a new kind breaks no `switch`.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String {
            case server, connectionFailed, connectionLost, closed, busy, aborted, transactionRolledBack
            case poolTimeout, poolExhausted, timeout, invalidConfiguration, invalidParameter, decoding, migration,
                protocolViolation
        }
        private let base: Base
        private init(_ base: Base) { self.base = base }

        /// The server answered with an error; `sqlstate` has its code.
        public static let server = Code(.server)
        /// No connection could be opened.
        public static let connectionFailed = Code(.connectionFailed)
        /// The connection ended with the statement unanswered; whether it took effect is unknown.
        public static let connectionLost = Code(.connectionLost)
        /// The connection or the client had been closed before.
        public static let closed = Code(.closed)
        /// The connection is in a COPY or listens, and doesn't accept statements.
        public static let busy = Code(.busy)
        /// The statement wasn't run, because an earlier statement of the same pipeline failed; that error is `underlyingError`.
        public static let aborted = Code(.aborted)
        /// The server rolled back at COMMIT, because an earlier statement of the transaction had failed; its error is `underlyingError`.
        public static let transactionRolledBack = Code(.transactionRolledBack)
        /// No connection became free in time; the last failure to connect, if any, is `underlyingError`.
        public static let poolTimeout = Code(.poolTimeout)
        /// Too many callers wait for a connection already.
        public static let poolExhausted = Code(.poolExhausted)
        /// The server gave no answer in time, and the connection was closed.
        public static let timeout = Code(.timeout)
        /// The URL or a setting is wrong.
        public static let invalidConfiguration = Code(.invalidConfiguration)
        /// A parameter can't be sent: too many of them, or a NUL character in a text.
        public static let invalidParameter = Code(.invalidParameter)
        /// A column is missing, null, or doesn't have the requested type.
        public static let decoding = Code(.decoding)
        /// A migration that was applied differs from the one in the program.
        public static let migration = Code(.migration)
        /// The server's answers don't match the statements, which is a defect of this library or the server.
        public static let protocolViolation = Code(.protocolViolation)

        public var description: String { base.rawValue }
    }

    public var code: Code
    /// The primary message of the server, or this library's message. May quote data.
    public var message: String
    /// The five-character code of the server's error, e.g. `23505`.
    public var sqlstate: String?
    /// The server's detail message. May quote data.
    public var detail: String?
    /// The server's hint, which suggests a solution.
    public var hint: String?
    /// The call stack in PL/pgSQL.
    public var context: String?
    public var schema: String?
    public var table: String?
    public var column: String?
    public var constraint: String?
    /// The statement, without its parameters.
    public var sql: String?
    /// The place of the statement in its pipeline, counted from 0.
    public var statementIndex: Int?
    public var underlyingError: (any Error)?
    public var file: String
    public var line: Int

    public init(
        _ code: Code, _ message: String, sqlstate: String? = nil, sql: String? = nil, underlying: (any Error)? = nil,
        file: String = #fileID, line: Int = #line
    ) {
        self.code = code
        self.message = message
        self.sqlstate = sqlstate
        self.sql = sql
        self.underlyingError = underlying
        self.file = file
        self.line = line
    }

    /// Whether the same work may succeed if it is started again: serialization failure, deadlock, lock not
    /// available, a lost or refused connection, a server that is shutting down or starting, a plan that a migration outdated.
    public var isRetriable: Bool { failureClass == .again }

    /// Whether the statement wasn't run, since an earlier one of its transaction has failed; that error is `underlyingError`.
    public var isInFailedTransaction: Bool { code == .transactionRolledBack || sqlstate == "25P02" }

    /// The error with which the transaction failed that this one is about.
    public var causeOfRollback: PostgresError {
        isInFailedTransaction ? underlyingError as? PostgresError ?? self : self
    }

    /// Whether a statement with other values might not have caused it.
    public var mayComeFromValues: Bool { code == .server || code == .invalidParameter }

    /// The cause in one line that is safe to log: libpq's message about a failed connection, without its hints, or the object that
    /// Postgres names. `nil` if the server's message may quote data.
    public var cause: String? {
        if let cause = (underlyingError as? PostgresError)?.cause { return cause }
        if let sqlstate, !Self.quotesNoData.contains(String(sqlstate.prefix(2))) { return nil }
        var lines: [Substring] = []
        // libpq tries several addresses, and each with and without TLS; its further lines are indented.
        for line in message.split(separator: "\n") where line.first != "\t" && !lines.contains(line) {
            lines.append(line)
        }
        return lines.joined(separator: "; ")
    }

    /// The classes of SQLSTATEs whose messages contain only names of objects and states.
    private static let quotesNoData: Set<String> = [
        "08", "0A", "25", "26", "28", "3D", "3F", "40", "42", "53", "55", "57", "58", "F0", "XX",
    ]

    /// Whether the statement may have taken effect although it failed.
    public var isOutcomeUnknown: Bool { code == .connectionLost || code == .timeout }

    /// Whether a value causes the failure, so that it will fail again: Postgres can't store it or compute with it (class 22, and
    /// the limits of class 54, except those that this project's own statements exceed), or it couldn't be sent.
    public var isDataException: Bool {
        guard failureClass == .refused else { return false }
        return code == .invalidParameter || sqlstate.map { $0.hasPrefix("22") || $0.hasPrefix("54") } ?? false
    }

    /// Whether a unique or exclusion constraint, or a primary key, refused the row.
    public var isUniqueViolation: Bool { sqlstate == "23505" || sqlstate == "23P01" }
}

extension PostgresError: CustomStringConvertible, CustomDebugStringConvertible {
    public var description: String {
        var text = "PostgresError(\(code)"
        if let sqlstate { text += ", sqlstate: \(sqlstate)" }
        if let table { text += ", table: \(table)" }
        if let constraint { text += ", constraint: \(constraint)" }
        if let statementIndex { text += ", statement: \(statementIndex)" }
        // This library's own messages contain no data.
        if sqlstate == nil, underlyingError != nil { text += ", \(message)" }
        if let cause, underlyingError == nil || cause != message { text += ", \(cause)" }
        return text + ")"
    }

    public var debugDescription: String {
        var text = "PostgresError(\(code)"
        let fields: [(String, String?)] = [
            ("sqlstate", sqlstate), ("message", message), ("detail", detail), ("hint", hint), ("context", context),
            ("schema", schema), ("table", table), ("column", column), ("constraint", constraint), ("sql", sql),
            ("statement", statementIndex.map(String.init)),
            ("underlying", underlyingError.map { String(reflecting: $0) }),
        ]
        for case (let name, let value?) in fields { text += ", \(name): \(value)" }
        return text + ", at \(file):\(line))"
    }
}
