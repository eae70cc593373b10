public import DocumentModel

/// What changed in a partition since a checkpoint, or the next part of it: state, not history, each document once and whole.
public struct CatchUp: Sendable {
    /// A document as it is, or that it is gone.
    public struct Entry: Sendable {
        public var collection: String
        /// The `_id` as `Value.idText`.
        public var idText: String
        /// The revision of its last change.
        public var revision: Revision
        public var incarnation: Revision
        /// Canonical Extended JSON, not parsed; `nil` for a document that was deleted or has left the partition.
        public var body: [UInt8]?
    }

    /// The database's epoch when it was read. Another one than that of the subscription means a restore in between: nothing of it
    /// continues what the receiver has.
    public var epoch: Int32
    /// In the order of revisions.
    public var entries: [Entry]
    /// The revision that the read started after.
    public var from: Revision
    /// The revision up to which the receiver has everything that doesn't change again; `head` when nothing is left.
    public var to: Revision
    /// The partition's head in the snapshot that was read.
    public var head: Revision
    /// How many changes were left in that snapshot, the entries included.
    public var remaining: Int
    /// The version of the device's last changeset in that snapshot; 0 when there is none.
    public var lastVersion: Int64

    /// Whether it ends at the head of its own snapshot.
    public var isFinal: Bool { to >= head }
}
