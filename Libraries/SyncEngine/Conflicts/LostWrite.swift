/// A write that had no effect, as the ack reports it.
public struct LostWrite: Hashable, Sendable {
    /// Why the write had no effect.
    public enum Reason: String, Sendable {
        /// Another write of the paths was later.
        case overwritten
        /// The document was deleted.
        case deleted
    }

    /// The operation's index in its changeset.
    public var operation: Int
    /// Why the write had no effect.
    public var reason: Reason
    /// The dotted paths that lost; empty when the whole operation was dropped.
    public var paths: [String]

    public init(operation: Int, reason: Reason, paths: [String] = []) {
        self.operation = operation
        self.reason = reason
        self.paths = paths
    }
}
