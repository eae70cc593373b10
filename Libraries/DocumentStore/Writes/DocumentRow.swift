import DocumentModel
import Postgres
import SyncEngine

/// A row of a collection's table, as ``CollectionTable/lockStatement`` reads it.
struct DocumentRow: Sendable {
    var partition: Partition
    var body: [UInt8]
    var stored: StoredDocument

    /// The columns of the table `t` that ``init(_:offset:)`` reads, after the `_id`.
    static let columns =
        "t._id, t.partition, t.epoch, t.revision, t.incarnation_epoch, t.incarnation, t.clocks, t.body"

    /// Reads the columns from `offset` on: partition, epoch, revision, incarnation_epoch, incarnation, clocks, body.
    init?(_ row: PostgresRow, offset: Int = 1) throws {
        guard let partition = try row.decode(offset, as: String?.self) else { return nil }
        let revision = Revision(epoch: try row.decode(offset + 1), number: try row.decode(offset + 2))
        let incarnation = Revision(epoch: try row.decode(offset + 3), number: try row.decode(offset + 4))
        let clocks = try row.decode(offset + 5, as: String?.self)
        self.partition = Partition(text: partition)
        body = try row.withBytes(offset + 6) { $0.map(Array.init) ?? [] }
        let document: Document
        do {
            document = try ExtendedJSON.parseDocument(body)
        } catch {
            throw DocumentStoreError(.corruptRow, "a body isn't Extended JSON", underlying: error)
        }
        stored = StoredDocument(
            document: document, incarnation: incarnation, revision: revision,
            clocks: try StoredClocks.read(clocks, of: revision))
    }
}

/// The column `clocks`: ``FieldClocks/text``, in which the epoch of provisional revisions stands for "the row's revision minus
/// the number", so that it can be written before the row's revision is known.
enum StoredClocks {
    static func read(_ text: String?, of revision: Revision) throws -> FieldClocks {
        guard let text else {
            return FieldClocks(document: FieldClock(time: HybridTime(bits: 0), author: "", revision: revision))
        }
        var clocks: FieldClocks
        do {
            clocks = try FieldClocks(text: text)
        } catch {
            throw DocumentStoreError(.corruptRow, "field clocks can't be read", underlying: error)
        }
        clocks.mapRevisions {
            $0.isProvisional ? Revision(epoch: revision.epoch, number: revision.number - $0.number) : $0
        }
        return clocks
    }

    /// - Parameter ordinal: The number of the document's last change; the clocks' provisional revisions count in the same
    ///   partition.
    static func write(_ clocks: FieldClocks, ordinal: Int64) -> String {
        var clocks = clocks
        clocks.mapRevisions { $0.isProvisional ? .provisional(ordinal - $0.number) : $0 }
        return clocks.text
    }
}
