import DocumentModel

/// Consecutive live changes of a partition, encoded once for all devices that have it open.
public struct LiveFrame<Payload: Sendable>: Sendable {
    /// The revision before the first change.
    public var from: Revision
    /// The revision of the last one.
    public var to: Revision
    /// The size of the frame in a socket's queue, in bytes.
    public var byteCount: Int
    /// The encoded frame; the engine doesn't interpret it.
    public var payload: Payload

    public init(from: Revision, to: Revision, byteCount: Int, payload: Payload) {
        self.from = from
        self.to = to
        self.byteCount = byteCount
        self.payload = payload
    }
}

/// The result of one read for a catch-up: the documents and tombstones changed after `from`, in the order of their revisions, each
/// once and whole. Chunks are cut by size only.
public struct CatchUpChunk<Payload: Sendable>: Sendable {
    /// The revision that the read started after.
    public var from: Revision
    /// The revision up to which the receiver has everything that didn't change again; the head, when nothing is left.
    public var to: Revision
    /// The partition's head in the snapshot that the read saw.
    public var head: Revision
    /// How many changes it contains.
    public var count: Int
    /// How many changes remained in that snapshot, including these; `nil` when they weren't counted.
    public var remaining: Int?
    /// The device's last committed version in that snapshot; 0 when there is none.
    public var lastVersion: Int64
    /// The database's epoch in that snapshot.
    public var epoch: Int32
    /// The partition's deletions up to here had left no tombstone in that snapshot.
    public var tombstoneHorizon: Revision
    /// The size of the frame in a socket's queue, in bytes.
    public var byteCount: Int
    /// The changes, as the caller will encode them.
    public var payload: Payload

    public init(
        from: Revision, to: Revision, head: Revision, count: Int, remaining: Int?, lastVersion: Int64, epoch: Int32,
        tombstoneHorizon: Revision = EpochHistory.beginning, byteCount: Int, payload: Payload
    ) {
        self.from = from
        self.to = to
        self.head = head
        self.count = count
        self.remaining = remaining
        self.lastVersion = lastVersion
        self.epoch = epoch
        self.tombstoneHorizon = tombstoneHorizon
        self.byteCount = byteCount
        self.payload = payload
    }

    /// Whether it ends at the head of its own snapshot.
    ///
    /// A document that changes while a catch-up runs gets a later revision, and is read again. So the state of a device
    /// that took all chunks up to a final one is exactly the server's at that head.
    public var isFinal: Bool { to >= head }
}

/// How far a catch-up has come.
public struct CatchUpProgress: Hashable, Sendable {
    /// Changes sent so far, these included.
    public var done: Int
    /// Changes that the catch-up will send in all, as far as is known; it grows when the partition changes meanwhile.
    public var total: Int

    public init(done: Int, total: Int) {
        self.done = done
        self.total = total
    }
}
