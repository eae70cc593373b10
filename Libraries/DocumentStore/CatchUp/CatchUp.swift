public import DocumentModel

/// What changed in a partition since a checkpoint, or the next part of that: the state, not the history. Each document occurs once,
/// in full.
public struct CatchUp: Sendable {
    /// A document in its current state, or its tombstone.
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

    /// Who reads a partition.
    public struct Device: Hashable, Sendable {
        @ExactText public private(set) var app: String
        public let partition: Partition
        @ExactText public private(set) var user: String
        @ExactText public private(set) var device: String

        public init(app: String, partition: Partition, user: String, device: String) {
            self.app = app
            self.partition = partition
            self.user = user
            self.device = device
        }
    }

    /// A snapshot without its documents; the fields are those of a catch-up.
    public struct Standing: Sendable {
        public let epoch: Int32
        public let head: Revision
        public let lastVersion: Int64
        public let tombstoneHorizon: Revision
    }

    /// The database's epoch at the time of the read. If it differs from the subscription's epoch, the database was restored in
    /// between, and the entries don't continue what the receiver has.
    public var epoch: Int32
    /// The changed documents, in the order of revisions.
    public var entries: [Entry]
    /// The revision that the read started after.
    public var from: Revision
    /// The revision up to which the receiver is complete after this part; `head` when nothing is left.
    public var to: Revision
    /// The partition's head in the snapshot that was read.
    public var head: Revision
    /// The number of changes that were left in that snapshot, including the entries; `nil` when they weren't counted.
    public var remaining: Int?
    /// The partition's deletions up to this revision have left no tombstone.
    public var tombstoneHorizon: Revision
    /// The version of the device's last changeset in that snapshot; 0 when there is none.
    public var lastVersion: Int64

    /// A catch-up that has nothing: after the head, or of a partition to which nobody has written. `nil` if there may be something to read.
    public init?(after revision: Revision, _ standing: Standing) {
        guard standing.head <= revision || standing.head.number == 0 else { return nil }
        epoch = standing.epoch
        entries = []
        from = revision
        head = max(standing.head, revision)
        to = head
        remaining = 0
        tombstoneHorizon = standing.tombstoneHorizon
        lastVersion = standing.lastVersion
    }

    /// Whether this part reaches the head of its own snapshot.
    public var isFinal: Bool { to >= head }
}
