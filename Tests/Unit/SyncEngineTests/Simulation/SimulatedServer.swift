import DocumentModel
import SyncEngine

/// A server in a few lines: documents, tombstones, revisions and upload counters, with the engine's rules.
struct SimulatedServer {
    enum Answer {
        case ack(Revision, [LostWrite])
        case rejected(OperationRejection)
        case forked
        /// Versions before it are missing.
        case gap
    }

    private struct Uploads {
        var last: Int64 = 0
        var answers: [Int64: (digest: UInt64, answer: Answer)] = [:]
    }

    private struct Tombstone {
        var id: Value
        var revision: Revision
        var incarnation: Revision
    }

    private(set) var documents: [DocumentKey: StoredDocument] = [:]
    private(set) var head = Revision(epoch: 1, number: 0)
    /// Live frames that nobody has been given yet.
    var feed: [LiveFrame<Download>] = []
    private(set) var history = EpochHistory(current: 1)
    /// The devices whose user's right was taken away.
    var forbidden: Set<String> = []
    private var tombstones: [DocumentKey: Tombstone] = [:]
    private var uploads: [String: Uploads] = [:]

    func lastVersion(of device: String) -> Int64 { uploads[device]?.last ?? 0 }

    // MARK: Writes

    mutating func commit(_ changeset: Changeset, device: String) -> Answer {
        let version = changeset.version
        if let known = uploads[device]?.answers[version] {
            return known.digest == changeset.digest ? known.answer : .forked
        }
        let last = lastVersion(of: device)
        if version <= last { return .rejected(.init(code: .outcomeUnknown, reason: "too old")) }
        if version > last + 1 { return .gap }
        let answer =
            forbidden.contains(device)
            ? .rejected(.init(code: .notPermitted, reason: "revoked")) : decide(changeset, device: device)
        uploads[device, default: Uploads()].last = version
        uploads[device]?.answers[version] = (changeset.digest, answer)
        uploads[device]?.answers[version - Int64(DevicePartition.uploadWindow)] = nil
        return answer
    }

    private mutating func decide(_ changeset: Changeset, device: String) -> Answer {
        var next = self
        var lost: [LostWrite] = []
        var changes: [DocumentChange] = []
        let stamp = WriteStamp(author: device, time: changeset.clock)
        for (index, operation) in changeset.operations.enumerated() {
            guard let key = operation.key else { return .rejected(.init(code: .badId, reason: "no key")) }
            let revision = Revision(epoch: head.epoch, number: next.head.number + 1)
            switch ConflictRules.apply(operation, by: stamp, revision: revision, to: next.documents[key]) {
            case .rejected(let rejection): return .rejected(rejection)
            case .droppedDeleted: lost.append(LostWrite(operation: index, reason: .deleted))
            case .applied(let applied):
                if !applied.lost.isEmpty {
                    lost.append(LostWrite(operation: index, reason: .overwritten, paths: applied.lost))
                }
                if applied.change == .none { continue }
                if applied.document?.document["forbidden"] != nil {
                    return .rejected(.init(code: .schemaViolation, reason: "forbidden", path: "forbidden"))
                }
                let origin = DocumentChange.Origin(device: device, version: changeset.version)
                changes.append(next.store(applied.document, key, operation.id, revision, origin: origin))
            }
        }
        let before = head
        self = next
        publish(changes, after: before)
        return .ack(head, lost)
    }

    /// A write from the server's side, which always counts.
    mutating func set(_ field: String, _ value: Value, of key: DocumentKey, milliseconds: Int64) {
        guard var stored = documents[key], let id = stored.document["_id"] else { return }
        let before = head
        let revision = Revision(epoch: head.epoch, number: head.number + 1)
        stored.document[field] = value
        stored.revision = revision
        stored.clocks.record(
            UpdateDescription(updatedFields: [field: value]), in: stored.document,
            by: WriteStamp(author: WriteStamp.serverAuthor, time: HybridTime(milliseconds: milliseconds)),
            revision: revision)
        publish([store(stored, key, id, revision, origin: nil)], after: before)
    }

    private mutating func store(
        _ document: StoredDocument?, _ key: DocumentKey, _ id: Value, _ revision: Revision,
        origin: DocumentChange.Origin?
    ) -> DocumentChange {
        head = revision
        let incarnation = document?.incarnation ?? documents[key]?.incarnation ?? revision
        documents[key] = document
        tombstones[key] =
            document == nil ? Tombstone(id: id, revision: revision, incarnation: incarnation) : nil
        return DocumentChange(
            collection: key.collection, id: id, revision: revision, incarnation: incarnation,
            document: document?.document, origin: origin)
    }

    private mutating func publish(_ changes: [DocumentChange], after before: Revision) {
        if changes.isEmpty { return }
        let download = Download(from: before, to: head, changes: changes)
        feed.append(LiveFrame(from: before, to: head, byteCount: changes.count, payload: download))
    }

    // MARK: Reads

    func readChunk(after checkpoint: Revision, limit: Int, device: String) -> CatchUpChunk<Download> {
        let from = history.resumePoint(for: checkpoint, head: head)
        var changes = documents.map { key, stored in
            DocumentChange(
                collection: key.collection, id: stored.document["_id"] ?? .null, revision: stored.revision,
                incarnation: stored.incarnation, document: stored.document)
        }
        changes += tombstones.map { key, tombstone in
            DocumentChange(
                collection: key.collection, id: tombstone.id, revision: tombstone.revision,
                incarnation: tombstone.incarnation, document: nil)
        }
        changes = changes.filter { from.number == 0 || $0.revision > from }.sorted { $0.revision < $1.revision }
        let taken = Array(changes.prefix(limit))
        let to = taken.count == changes.count ? head : taken.last?.revision ?? head
        let last = lastVersion(of: device)
        let download = Download(
            from: from, to: to, changes: taken,
            catchUp: Download.CatchUp(
                isFinal: to == head, lastVersion: last, progress: CatchUpProgress(done: 0, total: 0)))
        return CatchUpChunk(
            from: from, to: to, head: head, count: taken.count, remaining: changes.count, lastVersion: last,
            byteCount: taken.count, payload: download)
    }

    /// Goes back to an earlier state, as a restore from a backup does, under a new epoch.
    mutating func restore(_ backup: SimulatedServer) {
        let epoch = head.epoch + 1
        var history = history
        history.lastKept[head.epoch] = backup.head.number
        history.current = epoch
        self = backup
        self.history = history
        feed = []
        head = Revision(epoch: epoch, number: backup.head.number)
    }
}
