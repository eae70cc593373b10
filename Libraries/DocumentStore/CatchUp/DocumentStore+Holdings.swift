public import DocumentModel
import Postgres
public import SyncEngine

extension DocumentStore {
    /// What the store has of a partition for the devices that show its head, in one snapshot.
    ///
    /// It reads the row of each document, so it takes time in proportion to their number: a third of a second for 100,000 was measured.
    ///
    /// - Parameter limit: The most documents that are read.
    /// - Returns: the head of the snapshot, and what it has; `nil` instead of it when there are more documents than `limit`.
    public func holdings(of key: PartitionKey, limit: Int) async throws -> (head: Revision, holdings: Holdings?) {
        let storage = try storage(of: key.app)
        let tables = try await tables.all(of: key.app).filter { storage.syncs($0.namespace) }
        return try await client.withTransaction(isolation: .snapshotReadOnly) { transaction in
            var head = Revision(epoch: 0, number: 0)
            var holdings = Holdings()
            let rows = transaction.stream(
                HoldingsSQL.read(tables),
                [.text(key.app), .text(key.partition.text), .int(Int64(limit) + 1)], batch: 4096)
            for try await row in rows {
                let revision = Revision(epoch: try row.decode(0), number: try row.decode(1))
                guard let epoch = try row.decode(2, as: Int32?.self), let number = try row.decode(3, as: Int64?.self)
                else {
                    head = revision
                    continue
                }
                holdings.add(revision: revision, incarnation: Revision(epoch: epoch, number: number))
            }
            return (head, holdings.count > Int64(limit) ? nil : holdings)
        }
    }
}

private enum HoldingsSQL {
    /// `$1` app, `$2` partition, `$3` rows, which is named so that Postgres knows its type when no collection is synced. The row without an
    /// incarnation is the head.
    static func read(_ tables: [CollectionTable]) -> String {
        let documents = tables.map {
            """
            union all (select epoch, revision, incarnation_epoch, incarnation from \($0.name) where partition = $2 limit $3)
            """
        }
        return """
            select \(DocumentStore.headEpoch) as epoch, coalesce(p.head, 0) as revision, null::int, null::bigint
            from (select where $3::bigint > 0) one left join partita.partitions p on p.app = $1 and p.partition = $2
            \(documents.joined(separator: "\n"))
            """
    }
}
