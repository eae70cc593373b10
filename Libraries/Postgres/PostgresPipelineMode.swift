/// The isolation of a transaction.
public enum PostgresIsolation: String, Sendable {
    case readCommitted = "READ COMMITTED"
    case repeatableRead = "REPEATABLE READ"
    case serializable = "SERIALIZABLE"
    /// Repeatable read, and no writes: one snapshot for all its statements.
    case snapshotReadOnly = "REPEATABLE READ READ ONLY"

    var begin: String { "BEGIN ISOLATION LEVEL \(rawValue)" }
}

/// How statements that are sent together hang together.
public enum PostgresPipelineMode: Sendable {
    /// One implicit transaction: all or nothing. Inside an open transaction: a failure skips the rest and fails the transaction.
    case implicit
    /// BEGIN and COMMIT around them, in the same write.
    case explicit(PostgresIsolation)
    /// Each for itself. The first failure is thrown, and the others have run nevertheless.
    case separate

    /// BEGIN and COMMIT around them, read committed.
    public static var explicit: PostgresPipelineMode { .explicit(.readCommitted) }
}

/// What came on a channel that is listened to.
public struct PostgresNotification: Sendable, Hashable {
    public var channel: String
    public var payload: String
    /// The server's process that sent it.
    public var processID: Int32

    public init(channel: String, payload: String, processID: Int32) {
        self.channel = channel
        self.payload = payload
        self.processID = processID
    }
}
