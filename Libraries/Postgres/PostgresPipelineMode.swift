/// The isolation of a transaction.
public enum PostgresIsolation: String, Sendable {
    case readCommitted = "READ COMMITTED"
    case repeatableRead = "REPEATABLE READ"
    case serializable = "SERIALIZABLE"
    /// Repeatable read, and no writes: one snapshot for all its statements.
    case snapshotReadOnly = "REPEATABLE READ READ ONLY"

    var begin: String { "BEGIN ISOLATION LEVEL \(rawValue)" }
}

/// How statements that are sent together are grouped into transactions.
public enum PostgresPipelineMode: Sendable {
    /// One implicit transaction: all or nothing. Inside an open transaction: a failure skips the rest and fails the transaction.
    case implicit
    /// An explicit transaction: BEGIN and COMMIT are sent around them, in the same write.
    case explicit(PostgresIsolation)
    /// Each runs separately. The first failure is thrown, but the others have run too.
    case separate

    /// An explicit transaction with isolation level read committed.
    public static var explicit: PostgresPipelineMode { .explicit(.readCommitted) }
}

/// A notification from a channel.
public struct PostgresNotification: Sendable, Hashable {
    public var channel: String
    public var payload: String
    /// The id of the server process that sent it.
    public var processID: Int32

    public init(channel: String, payload: String, processID: Int32) {
        self.channel = channel
        self.payload = payload
        self.processID = processID
    }
}
