import DocumentModel
import MemoryStore
import SyncEngine

/// One partition on a server: documents in memory, live frames, the history of epochs, who may write. Uploads are
/// decided by the servers' own code.
struct SimulatedServer: Sendable {
    static let partition = Partition(text: "s:simulated")
    /// A partition that nobody opens. Documents move to it, if their writer has the right.
    static let elsewhere = Partition(text: "s:elsewhere")
    static let partitionKey = "_partition"
    /// What a document of the partition has.
    static let membership = Document.Field(partitionKey, "simulated")

    static let storage = AppStorage(
        app: "simulated", syncDatabase: "simulated", partitionKey: partitionKey,
        syncedCollections: ["Counter", "Note"]
    ) { _, document in
        document["forbidden"] == nil ? nil : .init(reason: "forbidden", path: "forbidden")
    }

    /// A change row.
    struct Row: Sendable {
        let change: DocumentChange
        /// Whether the next row belongs to the same commit.
        let continues: Bool
        /// Whether it is too large for the topic.
        let isLarge: Bool
    }

    /// An upload whose commit has begun.
    struct OpenUpload: Sendable {
        fileprivate let upload: Upload
        fileprivate let batch: MemoryStore.Batch
        /// The partitions that the user might write when it began.
        fileprivate let mayWrite: Set<Partition>
    }

    private var store = MemoryStore(storage: storage)
    /// The change rows, in the order of their revisions.
    private(set) var rows: [Row] = []
    /// The revisions at which commits ended, also those that a restore has lost.
    private var ends: Set<Revision> = []
    /// The revision up to which the relays have marked them as published.
    private(set) var published = EpochHistory.beginning
    private(set) var history = EpochHistory(current: 1)
    /// What the documents have to be, by an independent reading of the rules.
    private var reference = ReferenceDocuments()
    /// The changesets that were acknowledged.
    private var applied: Set<Applied> = []

    /// A changeset by its name and digest: what copies of a device write has one clock sometimes.
    private struct Applied: Hashable {
        let name: ChangesetName
        let digest: UInt64
    }
    /// What the server did that it never may.
    private(set) var violations: [String] = []
    /// What happened here, if it is recorded.
    private(set) var calls: [ServerCall]?

    /// - Parameter isRecorded: Whether the server writes down what happens.
    init(isRecorded: Bool) { calls = isRecorded ? [] : nil }

    var documents: [DocumentKey: StoredDocument] { store[Self.partition].documents }
    var holdings: Holdings { store[Self.partition].holdings }
    var head: Revision { store[Self.partition].head }

    /// The user of a device, which stays the same when the device takes a new id.
    static func user(of device: String) -> String { String(device.prefix { $0 != "'" && $0 != "/" }) }

    func lastVersion(of device: String) -> Int64 {
        store.lastVersion(of: device, user: Self.user(of: device), in: Self.partition)
    }

    /// Whether a user may write `elsewhere`.
    static func mayLeave(_ user: String) -> Bool { user.utf8.last.map { $0 % 2 == 0 } ?? false }

    // MARK: Writes

    /// Begins to commit a changeset: it is decided by what is there now.
    /// - Parameter mayWrite: whether the device's user may write the partition now; `nil` if that isn't known.
    mutating func begin(_ changeset: Changeset, device: String, at time: HybridTime, mayWrite: Bool?) -> OpenUpload {
        let upload = Upload(
            user: Self.user(of: device), device: device, partition: Self.partition, changeset: changeset, time: time)
        let partitions = Self.rights(of: upload.user, mayWrite: mayWrite)
        let batch = store.begin([upload]) { partition, _ in
            partition == Self.partition ? mayWrite : partitions.contains(partition)
        }
        if batch.requiredGrants.contains(where: { !partitions.contains(Partition(text: $0.partition.text)) }) {
            violations.append("\(device)'s changeset is accepted without a right")
        }
        return OpenUpload(upload: upload, batch: batch, mayWrite: partitions)
    }

    private static func rights(of user: String, mayWrite: Bool?) -> Set<Partition> {
        Set((mayWrite == true ? [partition] : []) + (mayLeave(user) ? [elsewhere] : []))
    }

    /// Commits it, if what was decided still holds.
    /// - Parameter mayWrite: whether the user may write the partition now.
    /// - Returns: `nil` when it has to begin again.
    mutating func finish(_ open: OpenUpload, mayWrite: Bool?) -> UploadResult? {
        let (upload, changeset) = (open.upload, open.upload.changeset)
        let rights = Self.rights(of: upload.user, mayWrite: mayWrite)
        guard
            let (results, changes) = store.finish(open.batch, mayWrite: { partition, _ in rights.contains(partition) }),
            let result = results[0]
        else { return nil }
        if let wrong = changes.first(where: { !$0.changes.isEmpty && !rights.contains($0.partition) }) {
            violations.append("\(upload.device) wrote to \(wrong.partition.text) without a right")
        }
        // Nothing was stored.
        if case .undecided = result { return result }
        publish(changes)
        calls?.append(.commit(upload, mayWrite: open.mayWrite, result))
        // A copy of a device may have given it another version. What is the same in all has the same effect in all.
        if case .acknowledged = result,
            applied.insert(.init(name: ChangesetName(changeset, device: upload.device), digest: upload.digest)).inserted
        {
            reference.apply(changeset, by: upload.device, at: upload.time, store: documents)
            violations += reference.differences(from: documents)
        }
        return result
    }

    /// A write from the server's side, which always counts.
    mutating func set(_ field: String, _ value: Value, of key: DocumentKey, milliseconds: Int64) {
        // It waits until the document is free, and then finds other work.
        if store.isLocked(key) { return }
        publish(store.set(field, value, of: key, milliseconds: milliseconds))
        calls?.append(.set(field: field, value, of: key))
        reference.follow(documents)
    }

    private mutating func publish(_ all: [MemoryStore.Changes]) {
        for changes in all where changes.partition == Self.partition && !changes.changes.isEmpty {
            for change in changes.changes {
                rows.append(
                    Row(
                        change: change, continues: change.revision != changes.after,
                        isLarge: change.revision.number % 7 == 0))
            }
            ends.insert(changes.after)
        }
    }

    /// Whether a device that has the partition up to this revision has no part of a commit.
    func endsCommit(_ revision: Revision) -> Bool { revision.number == 0 || ends.contains(revision) }

    // MARK: The outbox

    /// The rows after a revision, or after what is marked as published.
    func rows(after revision: Revision?, limit: Int) -> ArraySlice<Row> {
        let after = revision ?? published
        let start = rows.lastIndex { $0.change.revision <= after }.map { $0 + 1 } ?? 0
        return rows[start...].prefix(limit)
    }

    /// Whether something isn't marked as published.
    var hasUnpublished: Bool { rows.last.map { $0.change.revision > published } ?? false }

    mutating func mark(_ revision: Revision) { published = max(published, revision) }

    // MARK: Reads

    /// Where a device is served from that subscribes with this checkpoint.
    mutating func resumePoint(for checkpoint: Revision, resuming token: ResumeToken?) -> ResumePoint {
        var history = history
        history.tombstoneHorizon = store[Self.partition].tombstoneHorizon
        let point = history.resumePoint(for: checkpoint, resuming: token, head: head)
        calls?.append(.subscribe(checkpoint: checkpoint, token, point))
        return point
    }

    mutating func readChunk(after point: ResumePoint, limit: Int, device: String) -> CatchUpChunk<Download> {
        let chunk = store.chunk(
            of: Self.partition, from: point, limit: limit, device: device, user: Self.user(of: device))
        calls?.append(.read(after: point, limit: limit, device: device, chunk))
        return chunk
    }

    /// - Returns: Whether there was a tombstone.
    mutating func dropTombstones() -> Bool {
        calls?.append(.dropTombstones)
        return store.dropTombstones(of: Self.partition)
    }

    /// The state to which ``restore(_:)`` can go back.
    mutating func backUp() -> SimulatedServer {
        calls?.append(.backUp)
        return self
    }

    /// Goes back to an earlier state, as a restore from a backup does, under a new epoch.
    mutating func restore(_ backup: SimulatedServer) {
        let before = self
        var store = store
        store.restore(backup.store)
        self = backup
        self.store = store
        violations = before.violations
        ends = before.ends
        calls = before.calls
        calls?.append(.restore)
        history = before.history
        history.lastKept[before.history.current] = backup.head.number
        history.current = store.epoch
    }
}
