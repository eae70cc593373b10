import DocumentModel
import MemoryStore
import SyncEngine

/// One partition on a server: documents in memory, live frames, the history of epochs, who may write. Uploads are
/// decided by the servers' own code.
struct SimulatedServer {
    static let partition = Partition(text: "s:simulated")
    /// What a document of the partition has.
    static let membership = Document.Field("_partition", "simulated")

    private var store = MemoryStore(
        storage: AppStorage(
            app: "simulated", syncDatabase: "simulated", partitionKey: membership.key,
            syncedCollections: ["Counter", "Note"]
        ) { _, document in
            document["forbidden"] == nil ? nil : .init(reason: "forbidden", path: "forbidden")
        })
    /// Live frames that haven't been delivered yet.
    var feed: [LiveFrame<Download>] = []
    private(set) var history = EpochHistory(current: 1)
    /// A deliberate bug: devices that are older than the tombstones are served as if those still existed.
    var forgetsTombstoneHorizon = false
    /// A deliberate bug: a catch-up that was cut is continued after a restore.
    var resumesAcrossRestores = false
    /// The devices whose user's right was revoked.
    var forbidden: Set<String> = []

    var documents: [DocumentKey: StoredDocument] { store[Self.partition].documents }
    var head: Revision { store[Self.partition].head }

    /// Each device has a user of its own.
    func lastVersion(of device: String) -> Int64 { store.lastVersion(of: device, user: device, in: Self.partition) }

    // MARK: Writes

    mutating func commit(_ changeset: Changeset, device: String) -> UploadResult {
        let upload = Upload(
            user: device, device: device, partition: Self.partition, changeset: changeset, time: changeset.clock)
        let (results, changes) = store.commit([upload]) { [forbidden] _, user in !forbidden.contains(user) }
        publish(changes)
        guard let result = results[0] else { preconditionFailure("nothing is locked, and nothing sent twice at once") }
        return result
    }

    /// A write from the server's side, which always counts.
    mutating func set(_ field: String, _ value: Value, of key: DocumentKey, milliseconds: Int64) {
        publish(store.set(field, value, of: key, milliseconds: milliseconds))
    }

    private mutating func publish(_ all: [MemoryStore.Changes]) {
        for changes in all where changes.partition == Self.partition {
            let download = Download(from: changes.before, to: changes.after, changes: changes.changes)
            feed.append(
                LiveFrame(
                    from: changes.before, to: changes.after, byteCount: changes.changes.count, payload: download))
        }
    }

    // MARK: Reads

    /// Where a device is served from that subscribes with this checkpoint.
    func resumePoint(for checkpoint: Revision, resuming token: ResumeToken?) -> ResumePoint {
        var history = history
        var token = token
        if !forgetsTombstoneHorizon { history.tombstoneHorizon = tombstoneHorizon }
        if resumesAcrossRestores { token?.epoch = history.current }
        return history.resumePoint(for: checkpoint, resuming: token, head: head)
    }

    var tombstoneHorizon: Revision { store[Self.partition].tombstoneHorizon }

    func readChunk(after checkpoint: Revision, limit: Int, device: String) -> CatchUpChunk<Download> {
        store.chunk(of: Self.partition, from: checkpoint, limit: limit, device: device, user: device)
    }

    /// - Returns: Whether there was a tombstone.
    mutating func dropTombstones() -> Bool { store.dropTombstones(of: Self.partition) }

    /// Goes back to an earlier state, as a restore from a backup does, under a new epoch.
    mutating func restore(_ backup: SimulatedServer) {
        var history = history
        history.lastKept[head.epoch] = backup.head.number
        var store = store
        store.restore(backup.store)
        history.current = store.epoch
        self = backup
        self.store = store
        self.history = history
        feed = []
    }
}
