public import DocumentModel

/// What a transaction will write, collected before any of it is sent.
///
/// Every change takes the next ordinal of its partition. Ordinals become revisions when the plan is written, under the partition's
/// lock: the head advances by the number of revisions that the partition takes, and `back` is the distance of each from it.
public struct WritePlan: Sendable {
    /// The placeholder for the revision of the change that is being decided.
    public static let pending = Revision.provisional(1 << 40)

    /// Identifies a document of an app.
    public struct Key: Hashable, Sendable {
        public let database: ExactText
        public let collection: ExactText
        public let id: ExactText

        public init(_ namespace: ChangeEvent.Namespace, id: String) {
            database = ExactText(namespace.database)
            collection = ExactText(namespace.collection)
            self.id = ExactText(id)
        }
    }

    public let storage: AppStorage
    public private(set) var documents: [Key: WorkingDocument] = [:]
    /// The documents that change, in the order of their first change; new documents enter the natural order in this order.
    public private(set) var order: [Key] = []
    /// How many revisions each partition will take.
    public private(set) var counts: [ExactText: Int64] = [:]

    /// The total size of the documents' texts in bytes: of each as it was found and after each change.
    public private(set) var bytes = 0

    public init(storage: AppStorage) { self.storage = storage }

    public var isEmpty: Bool { counts.isEmpty }

    public subscript(key: Key) -> WorkingDocument? { documents[key] }

    /// Adds a document as it was found under its lock; one that was added before stays as it is.
    public mutating func hold(_ namespace: ChangeEvent.Namespace, id: String, found: WorkingDocument.State?) {
        let key = Key(namespace, id: id)
        guard documents[key] == nil else { return }
        documents[key] = WorkingDocument(namespace, id: id, found: found)
        bytes += found?.body.count ?? 0
    }

    /// How many revisions the partition will take so far.
    public func count(in partition: Partition) -> Int64 { counts[ExactText(partition.text)] ?? 0 }

    /// How far before the head an ordinal is.
    public func back(_ ordinal: Int64, in partition: Partition) -> Int64 { count(in: partition) - ordinal }

    private mutating func next(in partition: Partition) -> Int64 {
        counts[ExactText(partition.text), default: 0] += 1
        return counts[ExactText(partition.text), default: 0]
    }

    /// Records a change of a document.
    ///
    /// - Parameters:
    ///   - stored: The document; `nil` when it is deleted. Provisional revisions in it other than those of changes recorded
    ///     before become the one that this change takes.
    ///   - body: Its canonical text.
    ///   - operation: The operation type of a change of an existing document.
    ///   - stamp: The author and time; used for the clocks when the document moves to another partition.
    /// - Returns: the partition and ordinals that the change took; empty when the document neither existed before nor exists now.
    @discardableResult
    public mutating func record(
        _ key: Key, as stored: StoredDocument?, body: [UInt8], operation: ChangeEvent.OperationType = .update,
        by stamp: WriteStamp, origin: ChangeEvent.Origin? = nil
    ) -> [(partition: Partition, ordinal: Int64)] {
        guard var document = documents[key] else { return [] }
        let before = document.current
        let isFirst = document.changes.isEmpty
        var taken: [(partition: Partition, ordinal: Int64)] = []
        document.isFlushed = false
        bytes += body.count
        if let stored {
            record(
                stored, body: body, of: &document, was: before, operation: operation, by: stamp, origin: origin,
                into: &taken)
        } else if let before {
            let ordinal = next(in: before.partition)
            document.current = nil
            document.changes.append(
                .init(
                    partition: before.partition, ordinal: ordinal, operation: .delete,
                    incarnation: before.stored.incarnation, before: before.body, after: nil, moved: nil, origin: origin)
            )
            taken.append((before.partition, ordinal))
        }
        if isFirst, !document.changes.isEmpty { order.append(key) }
        documents[key] = document
        return taken
    }

    private mutating func record(
        _ stored: StoredDocument, body: [UInt8], of document: inout WorkingDocument,
        was before: WorkingDocument.State?, operation: ChangeEvent.OperationType, by stamp: WriteStamp,
        origin: ChangeEvent.Origin?, into taken: inout [(partition: Partition, ordinal: Int64)]
    ) {
        var stored = stored
        let partition = storage.partition(of: stored.document, in: document.namespace, id: document.id)
        var moved: (partition: Partition, ordinal: Int64)?
        if let before, !before.partition.text.hasSameBytes(as: partition.text) {
            let left = next(in: before.partition)
            moved = (before.partition, left)
            document.changes.append(
                .init(
                    partition: before.partition, ordinal: left, operation: .delete,
                    incarnation: before.stored.incarnation, before: before.body, after: nil, moved: moved,
                    origin: origin))
            taken.append((before.partition, left))
        }
        let earlier = count(in: partition)
        let ordinal = next(in: partition)
        let revision = Revision.provisional(ordinal)
        if moved != nil || before == nil {
            // Revisions of another partition mean nothing in this one.
            if moved != nil { stored.clocks = FieldClocks(inserted: stamp, revision: revision) }
            stored.incarnation = revision
        }
        stored.mapRevisions { $0.number > earlier ? revision : $0 }
        stored.revision = revision
        document.current = .init(partition: partition, stored: stored, body: body)
        document.changes.append(
            .init(
                partition: partition, ordinal: ordinal, operation: before == nil ? .insert : operation,
                incarnation: stored.incarnation, before: before?.body, after: body, moved: moved, origin: origin))
        taken.append((partition, ordinal))
    }

    /// Records that the rows in the table match the documents as they are now, except for their revisions.
    public mutating func markFlushed() {
        for key in order {
            guard var document = documents[key] else { continue }
            document.isInTable = document.current != nil
            document.isFlushed = true
            documents[key] = document
        }
    }
}
