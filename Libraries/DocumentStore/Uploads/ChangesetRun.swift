import DocumentModel
import Glibc
import QueryLanguage
import SyncEngine

/// One changeset on its way through the rules: it ends in the plan as a whole, or not at all.
struct ChangesetRun {
    /// Why a changeset doesn't go on.
    enum Stop: Error {
        /// A document that it needs is locked.
        case busy
        case rejected(OperationRejection)
    }

    private struct Touched {
        let table: CollectionTable
        var stored: StoredDocument?
        let existed: Bool
        let isElsewhere: Bool
        var isChanged = false
        var body: [UInt8] = []
    }

    let upload: Upload
    private let storage: AppStorage
    private var documents: [WritePlan.Key: Touched] = [:]
    private var order: [WritePlan.Key] = []
    private(set) var lost: [LostWrite] = []
    /// What the rules may still take of the processor, while nobody's changesets are decided.
    private var timeLeft = Self.timeLimit
    /// Partitions that documents move to.
    private(set) var targets: [Partition] = []

    /// For all operations of a changeset; the processor's time, since a busy machine is no fault of a device.
    private static let timeLimit = Duration.seconds(1)

    init(upload: Upload, storage: AppStorage) {
        self.upload = upload
        self.storage = storage
    }

    /// Applies an operation to the documents as the plan and the operations before it leave them.
    mutating func apply(
        _ place: Int, in plan: WritePlan, tables: [ExactText: CollectionTable], busy: Set<WritePlan.Key>
    ) throws(Stop) {
        let operation = upload.changeset.operations[place]
        guard let id = operation.id.storableId else {
            let reason =
                operation.id.idText == nil ? OperationRejection.noId.reason : DocumentStoreError.largeId.message
            throw .rejected(.init(code: .badId, reason: reason, path: "_id"))
        }
        guard let table = tables[ExactText(operation.collection)] else {
            throw .rejected(
                .init(code: .unknownCollection, reason: "the collection \(operation.collection) is not synced"))
        }
        let key = WritePlan.Key(table.namespace, id: id)
        if busy.contains(key) { throw .busy }
        if documents[key] == nil {
            let current = plan[key]?.current
            let isHere = current.map { $0.partition.text.hasSameBytes(as: upload.partition.text) } ?? false
            documents[key] = Touched(
                table: table, stored: isHere ? current?.stored : nil, existed: isHere,
                isElsewhere: current != nil && !isHere)
            order.append(key)
        }
        guard var document = documents[key] else { return }
        if case .insert = operation.kind, document.isElsewhere {
            throw .rejected(.init(code: .wrongPartition, reason: "the _id can't be used here", path: "_id"))
        }
        switch decide(operation, document.stored) {
        case .droppedDeleted: lost.append(LostWrite(operation: place, isDeleted: true))
        case .rejected(let rejection): throw .rejected(rejection)
        case .applied(let applied):
            if !applied.lost.isEmpty { lost.append(LostWrite(operation: place, paths: applied.lost)) }
            if applied.change != .none {
                document.stored = applied.document
                document.isChanged = true
                documents[key] = document
            }
        }
    }

    private mutating func decide(_ operation: Operation, _ stored: StoredDocument?) -> OperationOutcome {
        let start = Self.threadTime, end = start + timeLeft
        defer { timeLeft -= Self.threadTime - start }
        // Patterns of array filters, over many elements.
        let interruption = Interruption {
            Self.threadTime < end ? nil : QueryError(code: 50, message: "the changeset takes too long to be applied")
        }
        return Interruption.$current.withValue(interruption) {
            ConflictRules.apply(operation, by: upload.stamp, revision: WritePlan.pending, to: stored)
        }
    }

    /// What this thread has had of the processor.
    private static var threadTime: Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// Checks the documents that the changeset leaves.
    mutating func check(mayWrite: [UploadWork.GrantKey: Bool]) throws(Stop) {
        for key in order {
            guard let document = documents[key], document.isChanged, let stored = document.stored else { continue }
            if let violation = storage.validate(document.table.namespace, stored.document) {
                throw .rejected(.init(code: .schemaViolation, reason: violation.reason, path: violation.path))
            }
            let partition = storage.partition(of: stored.document, in: document.table.namespace, id: key.id.text)
            if !partition.text.hasSameBytes(as: upload.partition.text) {
                let isAllowed = document.existed && !partition.isInternal
                guard isAllowed, mayWrite[.init(partition: partition, user: upload.user)] == true else {
                    throw .rejected(
                        .init(
                            code: .wrongPartition,
                            reason: "the document would not be in a partition that the user may write",
                            path: storage.partitionKey))
                }
                targets.append(partition)
            }
            do throws(DocumentStoreError) {
                documents[key]?.body = try stored.document.storedBody()
            } catch {
                let code: OperationRejection.Code = error.code == .documentTooLarge ? .documentTooLarge : .notStorable
                throw .rejected(.init(code: code, reason: error.message, path: error.path))
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
