import DocumentModel
import QueryLanguage

/// Applies the rules to one changeset: it enters the plan as a whole, or not at all.
struct ChangesetRun {
    /// Why a changeset isn't applied.
    enum Stop: Error {
        /// A document that it needs is locked.
        case busy
        case rejected(OperationRejection)
        /// It isn't known now whether the user may write in a partition.
        case undecided(Partition)
    }

    private struct Touched {
        let namespace: ChangeEvent.Namespace
        var stored: StoredDocument?
        let existed: Bool
        let isElsewhere: Bool
        /// Whether it was in the upload's partition before the last operation, so that it can leave it.
        var wasHere: Bool
        var isChanged = false
        var body: [UInt8] = []
    }

    let upload: Upload
    private let storage: AppStorage
    private let interruption: Interruption?
    private var documents: [WritePlan.Key: Touched] = [:]
    private var order: [WritePlan.Key] = []
    private(set) var lost: [LostWrite] = []
    /// The partitions that documents move to.
    private(set) var targets: [Partition] = []

    init(upload: Upload, storage: AppStorage, interruption: Interruption?) {
        self.upload = upload
        self.storage = storage
        self.interruption = interruption
    }

    /// Applies an operation to the documents as the plan and the operations before it leave them.
    mutating func apply(_ place: Int, in plan: WritePlan, busy: Set<WritePlan.Key>) throws(Stop) {
        let operation = upload.changeset.operations[place]
        guard let id = operation.id.storableId else {
            throw .rejected(operation.id.idText == nil ? .noId : .largeId)
        }
        guard let namespace = storage.synced(operation.collection) else {
            throw .rejected(
                .init(code: .unknownCollection, reason: "the collection \(operation.collection) is not synced"))
        }
        let key = WritePlan.Key(namespace, id: id)
        if busy.contains(key) { throw .busy }
        if documents[key] == nil {
            let current = plan[key]?.current
            let isHere = current.map { $0.partition == upload.partition } ?? false
            documents[key] = Touched(
                namespace: namespace, stored: isHere ? current?.stored : nil, existed: isHere,
                isElsewhere: current != nil && !isHere, wasHere: isHere)
            order.append(key)
        }
        guard var document = documents[key] else { return }
        if case .insert = operation.kind, document.isElsewhere {
            throw .rejected(.init(code: .wrongPartition, reason: "the _id can't be used here", path: "_id"))
        }
        if !document.wasHere, let stored = document.stored {
            document.wasHere =
                storage.partition(of: stored.document, in: namespace, id: key.id.text) == upload.partition
        }
        switch decide(operation, document.stored) {
        case .droppedDeleted: lost.append(LostWrite(operation: place, reason: .deleted))
        case .rejected(let rejection): throw .rejected(rejection)
        case .applied(let applied):
            if !applied.lost.isEmpty {
                lost.append(LostWrite(operation: place, reason: .overwritten, paths: applied.lost))
            }
            if applied.change != .none {
                document.stored = applied.document
                document.isChanged = true
                documents[key] = document
            }
        }
    }

    private func decide(_ operation: Operation, _ stored: StoredDocument?) -> OperationOutcome {
        guard let interruption else { return outcome(of: operation, on: stored) }
        return Interruption.$current.withValue(interruption) { outcome(of: operation, on: stored) }
    }

    private func outcome(of operation: Operation, on stored: StoredDocument?) -> OperationOutcome {
        ConflictRules.apply(operation, by: upload.stamp, revision: WritePlan.pending, to: stored)
    }

    /// Validates the documents that the changeset results in.
    mutating func check(
        mayWrite: [UploadDecision.GrantKey: Bool], undecided: Set<UploadDecision.GrantKey>
    ) throws(Stop) {
        for key in order {
            guard let document = documents[key], document.isChanged, let stored = document.stored else { continue }
            if let violation = storage.validate(document.namespace, stored.document) {
                throw .rejected(.init(code: .schemaViolation, reason: violation.reason, path: violation.path))
            }
            let partition = storage.partition(of: stored.document, in: document.namespace, id: key.id.text)
            if partition != upload.partition {
                let isAllowed = document.wasHere && !partition.isInternal
                let grant = UploadDecision.GrantKey(partition: partition, user: upload.user)
                if isAllowed, undecided.contains(grant) { throw .undecided(partition) }
                guard isAllowed, mayWrite[grant] == true else {
                    throw .rejected(
                        .init(
                            code: .wrongPartition,
                            reason: "the document would not be in a partition that the user may write",
                            path: storage.partitionKey))
                }
                targets.append(partition)
            }
            do throws(StorageRefusal) {
                documents[key]?.body = try stored.document.storedBody()
            } catch {
                throw .rejected(error.rejection)
            }
        }
    }

    func record(in plan: inout WritePlan) {
        for key in order {
            guard let document = documents[key], document.isChanged, document.existed || document.stored != nil else {
                continue
            }
            plan.record(
                key, as: document.stored, body: document.body, by: upload.stamp, origin: upload.origin)
        }
    }
}
