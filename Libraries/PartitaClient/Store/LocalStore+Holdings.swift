import DocumentModel
import SyncEngine

extension LocalStore {
    /// What the store holds of a partition, of the server's state.
    func holdings(of partition: Partition) throws -> Holdings {
        try read { database in
            var holdings = Holdings()
            let sql = "SELECT revision, incarnation FROM documents WHERE partition = ?"
            for row in try database.query(sql, [.text(partition.text)]) {
                holdings.add(revision: try row.revision(0), incarnation: try row.revision(1))
            }
            return holdings
        }
    }

    /// When the gateway last compared what the device holds of a partition, in milliseconds since 1970; `nil` if it never has.
    func lastComparison(of partition: Partition) throws -> Int64? {
        try read { database in
            try database.query(
                "SELECT compared_at FROM comparisons WHERE partition = ?", [.text(partition.text)]
            ).first?.decode(0)
        }
    }

    /// Notes that the gateway has compared it.
    func setCompared(_ partition: Partition, at time: Int64) throws {
        try read { database in
            _ = try database.execute(
                "REPLACE INTO comparisons(partition, compared_at) VALUES (?, ?)",
                [.text(partition.text), .integer(time)])
        }
    }
}
