import DocumentModel
import DocumentStore
import Postgres

/// A row of `partita.changes`, whose documents aren't parsed yet.
struct ChangeRow: Sendable {
    /// The columns that ``init(_:offset:)`` reads, of the alias `c`.
    static let columns = """
        c.app, c.partition, c.epoch, c.revision, c.database, c.collection, c._id, c.operation, c.incarnation_epoch,
        c.incarnation, c.before, c.after, c.moved_partition, c.moved_epoch, c.moved_revision,
        c.origin_user, c.origin_device, c.origin_version, (extract(epoch from c.wall_time) * 1000)::bigint,
        c.trigger_chain
        """

    let app: String
    let partition: Partition
    let revision: Revision
    let namespace: ChangeEvent.Namespace
    let idText: String
    let operation: ChangeEvent.OperationType
    let incarnation: Revision
    let before: [UInt8]?
    let after: [UInt8]?
    let moved: ChangeEvent.Move?
    let origin: ChangeEvent.Origin?
    /// The chain as Extended JSON.
    let triggerChain: String?
    /// Milliseconds since 1970.
    let wallTime: Int64
    /// The size of the documents in bytes.
    let size: Int
    /// Whether the partition's next revision belongs to the same commit; only the relay knows.
    let continues: Bool

    /// - Parameters:
    ///   - offset: The place of the first of ``columns``.
    ///   - size: The size of the documents, if the row doesn't have them because they are too large; `nil` if it does.
    init(_ row: PostgresRow, offset: Int = 0, size: Int? = nil, continues: Bool = false) throws {
        app = try row.decode(offset)
        partition = Partition(text: try row.decode(offset + 1))
        revision = Revision(epoch: try row.decode(offset + 2), number: try row.decode(offset + 3))
        namespace = .init(database: try row.decode(offset + 4), collection: try row.decode(offset + 5))
        idText = try row.decode(offset + 6)
        guard let operation = ChangeEvent.OperationType(rawValue: try row.decode(offset + 7)) else {
            throw DocumentStoreError(.corruptRow, "a change row has an unknown operation")
        }
        self.operation = operation
        incarnation = Revision(epoch: try row.decode(offset + 8), number: try row.decode(offset + 9))
        before = try row.withBytes(offset + 10) { $0.map(Array.init) }
        after = try row.withBytes(offset + 11) { $0.map(Array.init) }
        if let left = try row.decode(offset + 12, as: String?.self) {
            moved = ChangeEvent.Move(
                partition: Partition(text: left),
                revision: Revision(epoch: try row.decode(offset + 13), number: try row.decode(offset + 14)))
        } else {
            moved = nil
        }
        if let user = try row.decode(offset + 15, as: String?.self) {
            origin = ChangeEvent.Origin(
                user: user, device: try row.decode(offset + 16), version: try row.decode(offset + 17))
        } else {
            origin = nil
        }
        wallTime = try row.decode(offset + 18)
        triggerChain = try row.decode(offset + 19)
        self.size = size ?? (before?.count ?? 0) + (after?.count ?? 0)
        self.continues = continues
    }
}
