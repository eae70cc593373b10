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

    private var store = MemoryStore(storage: storage)
    /// Live frames, in the order of the topic. They outlive a restore: the topic isn't restored.
    private(set) var feed: [LiveFrame<Download>] = []
    private(set) var history = EpochHistory(current: 1)
    /// What the documents have to be, by an independent reading of the rules.
    private var reference = ReferenceDocuments()
    /// The changesets that were acknowledged, by their names and contents: what copies of a device write has one clock
    /// sometimes.
    private var applied: Set<String> = []
    /// The devices whose user's right was revoked.
    var forbidden: Set<String> = []
    /// What the server did that it never may.
    private(set) var violations: [String] = []
    /// What happened here, if it is recorded.
    private(set) var calls: [ServerCall]?

    /// - Parameter isRecorded: Whether the server writes down what happens.
    init(isRecorded: Bool) { calls = isRecorded ? [] : nil }

    var documents: [DocumentKey: StoredDocument] { store[Self.partition].documents }
    var head: Revision { store[Self.partition].head }

    /// Each device has a user of its own.
    func lastVersion(of device: String) -> Int64 { store.lastVersion(of: device, user: device, in: Self.partition) }

    /// Whether a device's user may write `elsewhere`.
    static func mayLeave(_ device: String) -> Bool {
        device.utf8.filter { $0 != UInt8(ascii: "'") }.last.map { $0 % 2 == 0 } ?? false
    }

    // MARK: Writes

    mutating func commit(_ changeset: Changeset, device: String, at time: HybridTime) -> UploadResult {
        let upload = Upload(
            user: device, device: device, partition: Self.partition, changeset: changeset, time: time)
        let mayWrite = Set(
            (forbidden.contains(device) ? [] : [Self.partition]) + (Self.mayLeave(device) ? [Self.elsewhere] : []))
        let (results, changes) = store.commit([upload]) { partition, _ in mayWrite.contains(partition) }
        if forbidden.contains(device)
            || !Self.mayLeave(device) && changes.contains(where: { $0.partition == Self.elsewhere }),
            changes.contains(where: { !$0.changes.isEmpty })
        {
            violations.append("\(device) wrote without a right")
        }
        publish(changes)
        guard let result = results[0] else { preconditionFailure("nothing is locked, and nothing sent twice at once") }
        calls?.append(.commit(upload, mayWrite: mayWrite, result))
        // A copy of a device may have given it another version. What is the same in all has the same effect in all.
        if case .acknowledged = result,
            applied.insert("\(ChangesetName(changeset, device: device)) \(changeset.operations)").inserted
        {
            reference.apply(changeset, by: device, at: time, store: documents)
            violations += reference.differences(from: documents)
        }
        return result
    }

    /// A write from the server's side, which always counts.
    mutating func set(_ field: String, _ value: Value, of key: DocumentKey, milliseconds: Int64) {
        publish(store.set(field, value, of: key, milliseconds: milliseconds))
        calls?.append(.set(field: field, value, of: key))
        reference.follow(documents)
    }

    private mutating func publish(_ all: [MemoryStore.Changes]) {
        for changes in all where changes.partition == Self.partition {
            let download = Download(from: changes.before, to: changes.after, changes: changes.changes)
            feed.append(
                LiveFrame(
                    from: changes.before, to: changes.after, byteCount: changes.changes.count, payload: download))
        }
    }

    /// Publishes the head alone, as the relay does from time to time: a gateway that has lost frames notices it by this.
    mutating func publishHead() {
        feed.append(
            LiveFrame(from: head, to: head, byteCount: 0, payload: Download(from: head, to: head, changes: [])))
    }

    // MARK: Reads

    /// Where a device is served from that subscribes with this checkpoint.
    mutating func resumePoint(for checkpoint: Revision, resuming token: ResumeToken?) -> ResumePoint {
        var history = history
        history.tombstoneHorizon = store[Self.partition].tombstoneHorizon
        let point = history.resumePoint(for: checkpoint, resuming: token, head: head)
        calls?.append(.subscribe(checkpoint: checkpoint, token, point))
        return point
    }

    mutating func readChunk(after checkpoint: Revision, limit: Int, device: String) -> CatchUpChunk<Download> {
        let chunk = store.chunk(of: Self.partition, from: checkpoint, limit: limit, device: device, user: device)
        calls?.append(.read(after: checkpoint, limit: limit, device: device, chunk))
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
        feed = before.feed
        forbidden = before.forbidden
        violations = before.violations
        calls = before.calls
        calls?.append(.restore)
        history = before.history
        history.lastKept[before.history.current] = backup.head.number
        history.current = store.epoch
    }
}
