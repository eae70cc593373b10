/// How to react to a failure of Postgres. All services use this one classification.
public enum PostgresFailureClass: String, Sendable, CaseIterable {
    /// A race, a lock, or a lost or restarting server: the same work may succeed when it is retried after a short pause.
    case again
    /// The server temporarily lacks a resource (disk, memory, time, connections): retry after a longer pause.
    case later
    /// The request can't be executed or stored, however often it is repeated: it is refused with a reason.
    case refused
    /// One of Partita's own objects is missing, was altered externally, is forbidden or damaged. It keeps failing until an operator has
    /// repaired it: it is logged with the object's name, answered as unavailable, and retried with growing delays.
    case broken

    /// The class of a SQLSTATE, by its five characters or else by its first two.
    ///
    /// A state that isn't in the table is `broken`, so that no user's data is refused because of an unforeseen state.
    public init(sqlstate: String) {
        self = Self.codes[sqlstate] ?? Self.classes[String(sqlstate.prefix(2))] ?? .broken
    }

    /// Appendix A of Postgres' manual; `PT…` are this project's own.
    private static let classes: [String: PostgresFailureClass] = [
        "08": .again,  // connection
        "0A": .refused,  // feature not supported
        "0B": .broken, "0F": .broken, "0L": .broken, "0P": .broken,  // initiation, locators, grantors, roles
        "0Z": .broken, "20": .broken, "24": .broken, "27": .broken, "2B": .broken, "2D": .broken,
        "21": .refused,  // cardinality: a subquery gave several rows
        "22": .refused,  // data
        "23": .refused,  // constraints
        "25": .later,  // state of the transaction: read-only while another server takes over, idle for too long
        "26": .again,  // a prepared statement that a pooler has lost
        "28": .broken,  // authorization
        "2F": .broken, "34": .broken, "38": .broken, "39": .broken, "3B": .broken,  // routines, cursors, savepoints
        "3D": .broken, "3F": .broken,  // no such database, no such schema
        "40": .again,  // rolled back: serialization, deadlock
        "42": .broken,  // tables, columns, functions and privileges that aren't as they should be
        "44": .refused,  // with check option
        "53": .later,  // disk full, out of memory
        "54": .refused,  // too complex, too wide for an index
        "55": .later,  // an object in use, or not in the state for it
        "57": .again,  // an operator shuts down or starts
        "58": .broken,  // files of the server
        "72": .later,  // snapshot too old
        "F0": .broken, "HV": .broken,  // configuration, foreign data
        "P0": .refused,  // raised by a trigger that isn't Partita's
        "PT": .refused,
        "XX": .broken,  // damaged data, internal errors
    ]

    private static let codes: [String: PostgresFailureClass] = [
        "25P02": .again,  // an earlier error has the cause
        "40002": .refused,  // a constraint that is checked at the commit
        "53300": .again,  // too many connections
        "54023": .broken,  // too many arguments: in one of Partita's own statements
        "55P03": .again,  // lock not available
        "57014": .later,  // cancelled, or over its time limit
        "57P04": .broken,  // the database was dropped
        "P0002": .broken, "P0003": .broken, "P0004": .broken,  // Partita's functions: no row, several rows, assertion
        "PT403": .again, "PT409": .again,  // a grant was revoked, or another writer was faster, between two reads
    ]
}

extension PostgresError {
    /// How to react to this failure.
    public var failureClass: PostgresFailureClass {
        if let sqlstate {
            // A migration has outdated the plan; the next attempt creates a new one.
            if sqlstate == "0A000", message.hasPrefix("cached plan") { return .again }
            // A violated constraint of one of Partita's own tables isn't the request's fault.
            if sqlstate.hasPrefix("23"), !isUniqueViolation, schema == "partita" { return .broken }
            return PostgresFailureClass(sqlstate: sqlstate)
        }
        let cause = underlyingError as? PostgresError
        if code == .aborted || code == .transactionRolledBack, let cause { return cause.failureClass }
        // The connection was lost before, and this statement wasn't sent.
        if code == .closed { return cause.map { $0.code == .closed ? .later : .again } ?? .later }
        if [.connectionFailed, .connectionLost, .timeout, .poolTimeout].contains(code) { return .again }
        if code == .poolExhausted || code == .transactionRolledBack { return .later }
        return code == .invalidParameter ? .refused : .broken
    }
}
