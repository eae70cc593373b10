import DocumentModel
import SyncEngine

/// What a transaction will write, gathered before any of it is sent.
///
/// Every change takes the next ordinal of its partition. Ordinals become revisions in Postgres, under the partition's lock: the
/// statements subtract their distance from the head that ``CommitSQL/number`` has set just before.
struct WritePlan: Sendable {
    /// Names a document of an app.
    struct Key: Hashable, Sendable {
        let database: ExactText
        let collection: ExactText
        let id: ExactText

        init(_ namespace: ChangeEvent.Namespace, id: String) {
            database = ExactText(namespace.database)
            collection = ExactText(namespace.collection)
            self.id = ExactText(id)
        }
    }

    let storage: AppStorage
    private(set) var documents: [Key: WorkingDocument] = [:]
    /// Those that change, in the order in which they first did: in it new ones get their places in the natural order.
    private(set) var order: [Key] = []
    /// How many revisions each partition will take.
    private(set) var counts: [ExactText: Int64] = [:]

    /// Bytes of the documents' texts, of each as it was found and after each change.
    private(set) var bytes = 0
    /// What the writes under review met; `nil` where nobody reviews them.
    var met: [MetDocument]?

    init(storage: AppStorage) { self.storage = storage }

    var isEmpty: Bool { counts.isEmpty }

    subscript(key: Key) -> WorkingDocument? { documents[key] }

    /// Takes a document in hand as it was found under its lock; one that is in hand already stays as it is.
    mutating func hold(_ table: CollectionTable, id: String, row: DocumentRow?) {
        let key = Key(table.namespace, id: id)
        guard documents[key] == nil else { return }
        documents[key] = WorkingDocument(table: table, id: id, row: row)
        bytes += row?.body.count ?? 0
    }

    /// How many revisions the partition will take so far.
    func count(in partition: Partition) -> Int64 { counts[ExactText(partition.text)] ?? 0 }

    private mutating func next(in partition: Partition) -> Int64 {
        counts[ExactText(partition.text), default: 0] += 1
        return counts[ExactText(partition.text), default: 0]
    }

    /// Records that a document is another now.
    ///
    /// - Parameters:
    ///   - stored: The document; `nil` when it is deleted. Provisional revisions in it other than those of changes recorded
    ///     before become the one that this change takes.
    ///   - body: Its canonical text.
    ///   - operation: What to call a change of an existing document.
    ///   - stamp: Who writes; used for the clocks where the document moves.
    /// - Returns: the partition and ordinals that the change took; none if there was and is no document.
    @discardableResult
    mutating func record(
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
        let partition = storage.partition(of: stored.document, in: document.table.namespace, id: document.id)
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

    /// Notes that the rows are in the table as the documents are now, but for their revisions.
    mutating func markFlushed() {
        for key in order {
            guard var document = documents[key] else { continue }
            document.isInTable = document.current != nil
            document.isFlushed = true
            documents[key] = document
        }
    }
}
