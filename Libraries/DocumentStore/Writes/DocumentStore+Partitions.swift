public import DocumentModel
import Postgres

extension DocumentStore {
    /// Moves an app's documents into the partitions that they belong to by the app's current definition: documents of a collection
    /// that now syncs go into the partitions that their keys name, those of a collection that no longer syncs leave them. Each move
    /// is a normal change: devices get it, and triggers run.
    ///
    /// - Returns: the collections from which documents were moved, and their numbers.
    public func repartition(app: String) async throws -> [(namespace: ChangeEvent.Namespace, count: Int)] {
        let storage = try storage(of: app)
        var moved: [(namespace: ChangeEvent.Namespace, count: Int)] = []
        for table in try await tables.all(of: app) {
            // External writers must use the same key from here on.
            _ = try await tables.keyed(table.namespace, of: storage)
            var count = 0
            while case let part = try await repartition(table, by: storage.partitionKey(of: table.namespace)), part > 0
            {
                count += part
            }
            if count > 0 { moved.append((table.namespace, count)) }
        }
        return moved
    }

    /// Moves documents in one transaction, whose changes are numbered like those of an external writer.
    private func repartition(_ table: CollectionTable, by key: String?) async throws -> Int {
        let misplaced =
            key == nil
            ? "(t.partition < 'i:' or t.partition >= 'i;')"
            : """
            t.partition >= 'i:' and t.partition < 'i;'
            and partita.key_text(partita.hide_nul(t.body::text) -> $1::text) is not null
            """
        return try await client.withTransaction { transaction in
            try await transaction.execute("select set_config('partita.writer', 'library', true)", [])
            let rows = try await transaction.query(
                """
                with found as (
                    select t._id, t.body, t.partition, t.epoch, t.revision, t.incarnation_epoch, t.incarnation,
                        coalesce(
                            partita.key_text(partita.hide_nul(t.body::text) -> $1::text),
                            partita.internal_partition($2, $3, t._id)) as target
                    from \(table.name) t where \(misplaced) order by t._id limit 500 for no key update
                ), noted as (
                    insert into partita.pending (
                        xid, relation, _id, before, before_partition, before_epoch, before_revision,
                        before_incarnation_epoch, before_incarnation)
                    select pg_current_xact_id(), '\(table.name)'::regclass, _id, body, partition, epoch, revision,
                        incarnation_epoch, incarnation
                    from found
                ), moved as (
                    update \(table.name) t set partition = f.target, epoch = 0 from found f where t._id = f._id
                    returning 1
                )
                select count(*) from moved
                """,
                [PostgresValue(key), .text(table.namespace.database), .text(table.namespace.collection)])
            let count: Int = try rows.first?.decode(0) ?? 0
            if count > 0 {
                try await transaction.execute(
                    "insert into partita.pending_commits values (pg_current_xact_id()) on conflict do nothing", [])
            }
            return count
        }
    }
}
