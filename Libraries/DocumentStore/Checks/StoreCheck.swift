import DocumentModel
public import Postgres
import SyncEngine

/// Checks a database against the promises of the document store: revisions, partitions, tombstones and history agree with the
/// documents. It reads one snapshot, so it may run beside a working system; it reads every document.
public struct StoreCheck: Sendable {
    private let storage: AppStorage
    private let client: PostgresClient

    /// - Parameter storage: How the deployed app stores its documents.
    public init(_ storage: AppStorage, on client: PostgresClient) {
        self.storage = storage
        self.client = client
    }

    /// How long a check may take, which is less than the administration API and the proxy wait: enough for about two million documents.
    private static let longest = Duration.seconds(280)

    /// - Returns: what is wrong, one finding for each code and collection; empty when nothing is.
    /// - Throws: `DocumentStoreError` `timeLimit` when it takes too long.
    public func findings() async throws -> [StoreFinding] {
        do {
            return try await findings(within: TimeLimit(Int(Self.longest / .milliseconds(1))))
        } catch let error as PostgresError where error.sqlstate == "57014" {
            throw DocumentStoreError(
                .timeLimit,
                "the check takes longer than \(Self.longest / .seconds(1)) seconds: run it while little happens, or on a restored copy",
                mongoCode: 50, underlying: error)
        }
    }

    private func findings(within limit: TimeLimit) async throws -> [StoreFinding] {
        try await client.withTransaction { transaction in
            try await transaction.execute("set transaction isolation level repeatable read, read only")
            let app = PostgresValue.text(storage.app)
            var found: [StoreFinding] = []
            for (code, sql) in Self.ofApp {
                found += try await Self.ask(code, sql, [app], in: transaction, within: limit)
            }
            let tables = try await transaction.query(
                """
                select database, name, format('%I.%I', schema_name, table_name), partition_key, null_partition
                from partita.collections where app = $1 order by database, name
                """, [app])
            for row in tables {
                let (database, name, relation, key, hasNull) = try row.decode(
                    (String, String, String, String?, Bool).self)
                let namespace = ChangeEvent.Namespace(database: database, collection: name)
                let wanted = storage.partitionKey(of: namespace)
                if key.map({ ExactText($0) }) != wanted.map({ ExactText($0) })
                    || hasNull != storage.hasNullPartition(of: namespace)
                {
                    found.append(.init(code: .partitionKey, count: 1, example: "\(database).\(name)"))
                }
                for (code, sql) in Self.ofTable(relation) {
                    found += try await Self.ask(
                        code, sql, [app, .text(database), .text(name)], in: transaction, within: limit)
                }
            }
            return found
        }
    }

    private static func ask(
        _ code: StoreFinding.Code, _ sql: String, _ parameters: [PostgresValue], in transaction: PostgresTransaction,
        within limit: TimeLimit
    ) async throws -> [StoreFinding] {
        if let statement = limit.statement { _ = try await transaction.query(statement) }
        let rows = try await transaction.query(
            "with found as (\(sql)) select count(*), coalesce(min(place), '') from found", parameters)
        let (count, example) = try rows[0].decode((Int, String).self)
        return count > 0 ? [StoreFinding(code: code, count: count, example: example)] : []
    }

    /// `$1` app. Each returns the places of what is wrong.
    private static let ofApp: [(StoreFinding.Code, String)] = [
        (
            .epoch,
            """
            select partition as place from partita.partitions p
            where app = $1 and not exists (select from partita.epochs e where e.epoch = p.epoch)
            """
        ),
        (
            .pendingChanges,
            """
            select c.database || '.' || c.name || ' ' || p._id as place
            from partita.pending p join partita.collections c using (relation)
            where c.app = $1 and p.xid < pg_snapshot_xmin(pg_current_snapshot())
            """
        ),
        (
            .afterHead,
            """
            select t.partition || ' ' || t._id as place from partita.tombstones t left join partita.partitions p using (app, partition)
            where t.app = $1 and (p.head is null or (t.epoch, t.revision) > (p.epoch, p.head))
            union all
            select c.partition || ' ' || c._id from partita.changes c left join partita.partitions p using (app, partition)
            where c.app = $1 and (p.head is null or (c.epoch, c.revision) > (p.epoch, p.head))
            """
        ),
        (
            .sharedRevision,
            """
            select partition || ' ' || epoch || '.' || revision as place from partita.tombstones where app = $1
            group by partition, epoch, revision having count(*) > 1
            """
        ),
        // Rows are dropped by days from the beginning, so what is left of an epoch has no gap; and if anything is left of the head's
        // epoch, its last one is. What isn't published is needed, however old it is.
        (
            .historyGap,
            """
            select c.partition || ' ' || c.epoch as place
            from partita.changes c left join partita.partitions p using (app, partition) where c.app = $1
            group by c.partition, c.epoch, p.epoch, p.head
            having max(c.revision) - min(c.revision) + 1 <> count(*)
                or c.epoch = p.epoch and max(c.revision) <> p.head
            union
            select p.partition || ' ' || p.epoch from partita.partitions p left join partita.published d using (app, partition)
            where p.app = $1 and p.head > 0 and (d.epoch is null or (d.epoch, d.revision) < (p.epoch, p.head))
                and not exists (
                    select from partita.changes c
                    where c.app = p.app and c.partition = p.partition and c.epoch = p.epoch and c.revision = p.head)
            """
        ),
        (
            .unpublished,
            """
            select p.partition as place from partita.partitions p left join partita.published d using (app, partition)
            where p.app = $1 and (d.epoch is null or (d.epoch, d.revision) < (p.epoch, p.head)) and exists (
                select from partita.changes c
                where c.app = p.app and c.partition = p.partition and (c.epoch, c.revision) > (coalesce(d.epoch, 0), coalesce(d.revision, 0))
                    and c.wall_time < now() - interval '1 minute')
            """
        ),
    ]

    /// `$1` app, `$2` database, `$3` collection.
    private static func ofTable(_ relation: String) -> [(StoreFinding.Code, String)] {
        [
            (
                .triggers,
                """
                select $2 || '.' || $3 || ' ' || wanted as place
                from unnest(array['partita_before', 'partita_collect', 'partita_schema', 'partita_truncate']) wanted
                where $1::text is not null and not exists (
                    select from pg_trigger t
                    where t.tgrelid = '\(relation)'::regclass and t.tgname = wanted and t.tgenabled in ('O', 'A'))
                """
            ),
            (
                .misplaced,
                """
                select $2 || '.' || $3 || ' ' || t._id as place from \(relation) t
                join partita.collections c on c.app = $1 and c.database = $2 and c.name = $3
                where t.partition <> partita.partition_of(c, partita.hide_nul(t.body::text), t._id)
                """
            ),
            (
                .queryForm,
                """
                select $2 || '.' || $3 || ' ' || t._id as place from \(relation) t
                where $1::text is not null and t.document is distinct from partita.plain(partita.hide_nul(t.body::text))::jsonb
                """
            ),
            (
                .afterHead,
                """
                select t.partition || ' ' || $2 || '.' || $3 || ' ' || t._id as place
                from \(relation) t left join partita.partitions p on p.app = $1 and p.partition = t.partition
                where p.head is null or (t.epoch, t.revision) > (p.epoch, p.head)
                """
            ),
            (
                .sharedRevision,
                """
                select $2 || '.' || $3 || ' ' || t.partition || ' ' || t.epoch || '.' || t.revision as place
                from (
                    select partition, epoch, revision from \(relation)
                    union all
                    select partition, epoch, revision from partita.tombstones where app = $1 and database = $2 and collection = $3
                ) t group by t.partition, t.epoch, t.revision having count(*) > 1
                """
            ),
            (
                .tombstone,
                """
                select $2 || '.' || $3 || ' ' || t._id as place from \(relation) t
                join partita.tombstones d
                    on d.app = $1 and d.partition = t.partition and d.database = $2 and d.collection = $3 and d._id = t._id
                        -- One that left or was deleted, and is there again, keeps the tombstone of that time.
                        and (d.epoch, d.revision) >= (t.epoch, t.revision)
                """
            ),
            (
                .history,
                """
                select $2 || '.' || $3 || ' ' || c._id as place from (
                    select distinct on (partition, _id) partition, _id, epoch, revision, operation, after from partita.changes
                    where app = $1 and database = $2 and collection = $3
                    order by partition, _id, epoch desc, revision desc
                ) c
                left join \(relation) t on t._id = c._id and t.partition = c.partition
                where case when c.operation = 'delete' then t._id is not null
                    else t._id is null or (t.epoch, t.revision) <> (c.epoch, c.revision) or t.body::text <> c.after::text end
                """
            ),
        ]
    }
}
