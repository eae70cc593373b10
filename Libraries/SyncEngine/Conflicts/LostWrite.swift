/// A write that didn't count, as the ack names it.
public struct LostWrite: Hashable, Sendable {
    /// Why it didn't.
    public enum Reason: String, Sendable {
        /// Somebody wrote the paths later.
        case overwritten
        /// The document was deleted.
        case deleted
    }

    /// The operation's index in its changeset.
    public var operation: Int
    /// Why it didn't count.
    public var reason: Reason
    /// The dotted paths that lost; empty when the whole operation did.
    public var paths: [String]

    public init(operation: Int, reason: Reason, paths: [String] = []) {
        self.operation = operation
        self.reason = reason
        self.paths = paths
    }
}
