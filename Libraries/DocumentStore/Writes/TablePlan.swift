import DocumentModel
import SyncEngine

/// The writes of a transaction, and the tables that they go to.
struct TablePlan: Sendable {
    private(set) var plan: WritePlan
    private(set) var tables: [ChangeEvent.Namespace: CollectionTable]
    /// The documents that the writes under review found; `nil` if the writes aren't reviewed.
    var met: [MetDocument]?

    init(storage: AppStorage) {
        plan = WritePlan(storage: storage)
        tables = [:]
    }

    /// - Parameter tables: The tables of all documents in the plan.
    init(_ plan: WritePlan, tables: some Sequence<CollectionTable>) {
        self.plan = plan
        self.tables = Dictionary(tables.map { ($0.namespace, $0) }, uniquingKeysWith: { first, _ in first })
    }

    var isEmpty: Bool { plan.isEmpty }
    var bytes: Int { plan.bytes }

    /// - Throws: `DocumentStoreError` (`transactionTooLarge`) when the documents take more bytes.
    func checkSize(_ limit: Int) throws(DocumentStoreError) {
        guard bytes > limit else { return }
        throw DocumentStoreError(
            .transactionTooLarge, "Total size of all transaction operations must be less than \(limit) bytes",
            mongoCode: 257)
    }

    subscript(key: WritePlan.Key) -> WorkingDocument? { plan[key] }

    /// Adds a document to the plan as it was read under its lock; a document that is in the plan already stays as it is.
    mutating func hold(_ table: CollectionTable, id: String, row: DocumentRow?) {
        if tables[table.namespace] == nil { tables[table.namespace] = table }
        plan.hold(table.namespace, id: id, found: row.map(WorkingDocument.State.init))
    }

    /// Records a document's new state.
    mutating func record(
        _ key: WritePlan.Key, as stored: StoredDocument?, body: [UInt8],
        operation: ChangeEvent.OperationType = .update, by stamp: WriteStamp, origin: ChangeEvent.Origin? = nil
    ) {
        plan.record(key, as: stored, body: body, operation: operation, by: stamp, origin: origin)
    }

    /// Records that the rows in the tables have the documents' current state, except for their revisions.
    mutating func markFlushed() { plan.markFlushed() }
}

extension WorkingDocument.State {
    init(_ row: DocumentRow) { self.init(partition: row.partition, stored: row.stored, body: row.body) }
}
