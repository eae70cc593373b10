import DocumentModel
import SyncEngine

/// A document as a transaction has it in hand: as it was in the table, as it is now, and the changes between.
struct WorkingDocument: Sendable {
    /// What the document is at some moment.
    struct State: Sendable {
        var partition: Partition
        var stored: StoredDocument
        /// Canonical Extended JSON.
        var body: [UInt8]
    }

    /// One change row to be written.
    struct Change: Sendable {
        var partition: Partition
        /// The how-manieth revision of the transaction in the partition, from 1.
        var ordinal: Int64
        var operation: ChangeEvent.OperationType
        /// Provisional ones count in `partition`.
        var incarnation: Revision
        var before: [UInt8]?
        var after: [UInt8]?
        var moved: (partition: Partition, ordinal: Int64)?
        var origin: ChangeEvent.Origin?
    }

    let table: CollectionTable
    let id: String
    /// Whether the table has a row of it, written by this transaction or before.
    var isInTable: Bool
    /// Whether the row in the table is as `current`, except for its revision.
    var isFlushed = false
    /// As it is; `nil` when there is none.
    var current: State?
    var changes: [Change] = []

    init(table: CollectionTable, id: String, row: DocumentRow?) {
        self.table = table
        self.id = id
        isInTable = row != nil
        current = row.map { State(partition: $0.partition, stored: $0.stored, body: $0.body) }
    }
}
