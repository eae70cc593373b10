import DocumentModel
import SQLite
import SyncEngine

/// A changeset that the server rejected, kept until the app retries or discards it.
public struct RejectedChangeset: Sendable, Identifiable {
    /// Its number in the list.
    public var id: Int64
    /// Its partition.
    public var partition: Partition
    /// The changeset that was rejected.
    public var changeset: Changeset
    /// Why it was rejected.
    public var reason: OperationRejection
    /// When the device received the rejection, in milliseconds since 1970.
    public var rejectedAt: Int64
}

extension LocalStore {
    /// The rejected changesets of a partition, in the order in which they were rejected.
    func rejected(_ partition: Partition) throws -> [RejectedChangeset] {
        let sql = """
            SELECT id, changeset, code, reason, path, rule, rejected_at FROM rejected WHERE partition = ? ORDER BY id
            """
        return try read { database in
            try database.query(sql, [.text(partition.text)]).map { row in
                RejectedChangeset(
                    id: try row.decode(0), partition: partition, changeset: try ChangesetText.decode(try row.decode(1)),
                    reason: OperationRejection(
                        code: OperationRejection.Code(rawValue: try row.decode(2)), reason: try row.decode(3),
                        path: try row.decode(4), rule: try row.decode(5)),
                    rejectedAt: try row.decode(6))
            }
        }
    }

    /// Removes a changeset from the list.
    func discardRejected(_ id: Int64) throws {
        try read { _ = try $0.execute("DELETE FROM rejected WHERE id = ?", [.integer(id)]) }
    }

    // MARK: Kept for a restore of the server

    /// The acknowledged changesets that are kept, after a version.
    func retained(_ partition: Partition, after version: Int64) throws -> [Changeset] {
        try read { database in
            try database.query(
                "SELECT changeset FROM retained WHERE partition = ? AND version > ? ORDER BY version",
                [.text(partition.text), .integer(version)]
            ).map { try ChangesetText.decode(try $0.decode(0)) }
        }
    }

    /// Deletes the kept changesets that were acknowledged before a time, in milliseconds since 1970.
    func forgetRetained(before time: Int64) throws {
        try read { _ = try $0.execute("DELETE FROM retained WHERE acknowledged_at < ?", [.integer(time)]) }
    }
}
