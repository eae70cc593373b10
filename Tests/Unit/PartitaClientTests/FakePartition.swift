import DocumentModel
import SyncEngine

/// A partition on a server in memory, with the engine's rules.
struct FakePartition {
    enum Answer {
        case ack(Revision, [LostWrite])
        case rejected(OperationRejection)
        case forked
        /// Versions before it are missing.
        case gap
    }

    private(set) var documents: [DocumentKey: StoredDocument] = [:]
    private(set) var head = Revision(epoch: 1, number: 0)
    private var tombstones: [DocumentKey: DocumentChange] = [:]
    private var answers: [String: [Int64: (digest: UInt64, answer: Answer)]] = [:]

    func lastVersion(of device: String) -> Int64 { answers[device]?.keys.max() ?? 0 }

    /// - Returns: The answer, and the live changes.
    mutating func commit(_ changeset: Changeset, device: String) -> (Answer, [DocumentChange]) {
        if let known = answers[device]?[changeset.version] {
            return (known.digest == changeset.digest ? known.answer : .forked, [])
        }
        if changeset.version != lastVersion(of: device) + 1 { return (.gap, []) }
        var next = self
        var lost: [LostWrite] = []
        var changes: [DocumentChange] = []
        var rejection: OperationRejection?
        for (index, operation) in changeset.operations.enumerated() {
            guard let key = operation.key else { continue }
            let revision = Revision(epoch: head.epoch, number: next.head.number + 1)
            let stamp = WriteStamp(author: device, time: changeset.clock)
            switch ConflictRules.apply(operation, by: stamp, revision: revision, to: next.documents[key]) {
            case .rejected(let reason): rejection = reason
            case .droppedDeleted: lost.append(LostWrite(operation: index, reason: .deleted))
            case .applied(let applied):
                if !applied.lost.isEmpty {
                    lost.append(LostWrite(operation: index, reason: .overwritten, paths: applied.lost))
                }
                if applied.document?.document["forbidden"] != nil {
                    rejection = OperationRejection(code: .schemaViolation, reason: "forbidden", path: "forbidden")
                }
                if applied.change == .none { continue }
                let change = DocumentChange(
                    collection: key.collection, id: operation.id, revision: revision,
                    incarnation: applied.document?.incarnation ?? revision, document: applied.document?.document,
                    origin: DocumentChange.Origin(device: device, version: changeset.version))
                next.head = revision
                next.documents[key] = applied.document
                next.tombstones[key] = applied.document == nil ? change : nil
                changes.append(change)
            }
        }
        if let rejection {
            answers[device, default: [:]][changeset.version] = (changeset.digest, .rejected(rejection))
            return (.rejected(rejection), [])
        }
        next.answers[device, default: [:]][changeset.version] = (changeset.digest, .ack(next.head, lost))
        self = next
        return (.ack(head, lost), changes)
    }

    func chunk(after checkpoint: Revision, device: String) -> CatchUpChunk<Download> {
        let from = checkpoint.epoch == 0 ? Revision(epoch: 1, number: 0) : checkpoint
        var changes = documents.map { key, stored in
            DocumentChange(
                collection: key.collection, id: stored.document["_id"] ?? .null, revision: stored.revision,
                incarnation: stored.incarnation, document: stored.document)
        }
        changes += tombstones.values
        changes = changes.filter { $0.revision > from }.sorted { $0.revision < $1.revision }
        let taken = Array(changes.prefix(10))
        let to = taken.count == changes.count ? head : taken.last?.revision ?? head
        return CatchUpChunk(
            from: from, to: to, head: head, count: taken.count, remaining: changes.count,
            lastVersion: lastVersion(of: device), byteCount: 1,
            payload: Download(from: from, to: to, changes: taken))
    }
}
