public import DocumentModel
public import Postgres

extension DocumentCollection {
    /// A number that a document has from its insert to its deletion, in whichever partition it is: one that is inserted under the same
    /// `_id` later has a greater one.
    ///
    /// - Parameter transaction: Where to read; `nil` for a read of its own.
    /// - Returns: `nil` when there is no such document.
    public func insertionNumber(of id: Value, in transaction: PostgresTransaction? = nil) async throws -> Int64? {
        guard let table = try await table(), let id = id.storableId else { return nil }
        let sql = "select natural_order from \(table.name) where _id = $1"
        let rows =
            if let transaction {
                try await transaction.query(sql, [.text(id)])
            } else {
                try await store.client.query(sql, [.text(id)])
            }
        return try rows.first?.decode(0)
    }
}
