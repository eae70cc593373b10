public import DocumentModel
import Postgres
public import SyncEngine

extension DocumentStore {
    /// The bounds of one part of a catch-up.
    public struct CatchUpLimits: Sendable {
        /// The most documents and tombstones (at least 1).
        public var entries: Int
        /// The most bytes of documents; exceeded by a part of one document only.
        public var bytes: Int

        public init(entries: Int = 500, bytes: Int = 1 << 20) {
            self.entries = max(entries, 1)
            self.bytes = max(bytes, 1)
        }
    }

    /// Reads what changed in a partition after a checkpoint, in one snapshot and cut by size. Resumable: the next part begins at
    /// `to`. A document that changes in the meantime moves behind what was read, so a later part contains it again.
    ///
    /// - Parameters:
    ///   - from: A checkpoint that ``epochHistories(of:)`` resumed.
    ///   - horizon: What was deleted up to here is left out: the device had nothing of it, see `ResumePoint`.
    ///   - user: The user of `device`, whose last changeset's version is read.
    ///   - counts: Whether to count what remains, for showing progress: once per catch-up, since it takes time in proportion.
    public func catchUp(
        app: String, partition: Partition, from: Revision, deletionsAfter horizon: Revision = EpochHistory.beginning,
        user: String, device: String, counts: Bool = true, limits: CatchUpLimits = CatchUpLimits()
    ) async throws -> CatchUp {
        let storage = try storage(of: app)
        let tables = try await tables.all(of: app).filter { storage.syncs($0.namespace) }
        let deletions = max(from, horizon)
        let rows = try await client.query(
            CatchUpSQL.read(tables, counts: counts),
            [
                .text(app), .text(partition.text), .int(Int64(from.epoch)), .int(from.number), .text(user),
                .text(device), .int(Int64(limits.entries + 1)), .int(Int64(limits.bytes)), .text(storage.syncDatabase),
                .textArray(tables.map(\.namespace.collection)), .int(Int64(deletions.epoch)), .int(deletions.number),
            ])
        return try CatchUp(rows, from: from, isCounted: counts, limit: limits.entries)
    }

    /// What a catch-up would say of its snapshot without reading documents, for many devices in one round trip. A device whose checkpoint
    /// is the head has everything.
    public func standings(of devices: [CatchUp.Device]) async throws -> [CatchUp.Device: CatchUp.Standing] {
        let rows = try await client.query(
            CatchUpSQL.standings,
            [
                .textArray(devices.map(\.app)), .textArray(devices.map(\.partition.text)),
                .textArray(devices.map(\.user)), .textArray(devices.map(\.device)),
            ])
        var standings: [CatchUp.Device: CatchUp.Standing] = [:]
        for row in rows {
            let (place, epoch, head, version, horizonEpoch, horizon, present) =
                try row.decode((Int, Int32, Int64, Int64, Int32, Int64, Int32).self)
            standings[devices[place - 1]] = CatchUp.Standing(
                epoch: present, head: Revision(epoch: epoch, number: head), lastVersion: version,
                tombstoneHorizon: Revision(epoch: horizonEpoch, number: horizon))
        }
        return standings
    }

    /// The revisions of former epochs that the partitions' histories still have, against which checkpoints are checked.
    public func epochHistories(
        of partitions: [PartitionKey]
    ) async throws -> [PartitionKey: (history: EpochHistory, head: Revision)] {
        let rows = try await client.query(
            CatchUpSQL.histories, [.textArray(partitions.map(\.app)), .textArray(partitions.map(\.partition.text))])
        var histories: [PartitionKey: (history: EpochHistory, head: Revision)] = [:]
        for row in rows { histories[partitions[try row.decode(0, as: Int.self) - 1]] = try Self.history(row) }
        return histories
    }

    private static func history(_ row: PostgresRow) throws -> (history: EpochHistory, head: Revision) {
        let (_, current, epoch, head, epochs, ends, anew, all) = try row.decode(
            (Int, Int32, Int32?, Int64?, [Int32], [Int64], Int32, [Int32]).self)
        let horizon = Revision(epoch: try row.decode(8), number: try row.decode(9))
        var lastKept: [Int32: Int64] = [:]
        let known = Dictionary(zip(epochs, ends), uniquingKeysWith: { $1 })
        var last: Int64 = 0
        for former in all where former < current {
            // An epoch in which nothing was written ended where the one before it did.
            if let epoch, former >= epoch, let head { last = head } else { last = known[former] ?? last }
            // A partition that is served again from the start has no history before that.
            lastKept[former] = former < anew ? 0 : last
        }
        return (
            EpochHistory(current: current, lastKept: lastKept, tombstoneHorizon: horizon),
            Revision(epoch: max(epoch ?? current, anew), number: head ?? 0)
        )
    }

    /// The newest revisions of partitions; those that were never written are missing.
    public func heads(of partitions: [PartitionKey]) async throws -> [PartitionKey: Revision] {
        let rows = try await client.query(
            CatchUpSQL.heads,
            [.textArray(partitions.map(\.app)), .textArray(partitions.map(\.partition.text))])
        var heads: [PartitionKey: Revision] = [:]
        for row in rows {
            let (app, partition, epoch, number) = try row.decode((String, String, Int32, Int64).self)
            let key = PartitionKey(app: app, partition: Partition(text: partition))
            heads[key] = Revision(epoch: epoch, number: number)
        }
        return heads
    }

    /// The epoch of a partition's head, in SQL: `p` is the partition's row in `partita.partitions`, or null if nobody has written to it.
    public static let headEpoch = "greatest(p.epoch, p.anew, 1)"

    /// The current epoch of the database. If it differs from an earlier result, the database was restored in the meantime.
    public func currentEpoch() async throws -> Int32 {
        let rows = try await client.query("select partita.current_epoch()")
        guard let row = rows.first else { throw DocumentStoreError(.corruptRow, "no epoch") }
        return try row.decode(0)
    }

    /// Invalidates every checkpoint that devices have of the partitions: each device takes the whole state again, and keeps its own
    /// writes. This repairs devices that lack documents because of a fault of the server. Begins an epoch.
    ///
    /// - Parameters:
    ///   - partition: `nil` for all partitions of the app.
    ///   - beforeCommit: See ``CommitHook``.
    /// - Returns: the number of partitions that are served again from the start.
    public func serveAnew(
        app: String, partition: Partition? = nil, beforeCommit: CommitHook? = nil
    ) async throws -> Int {
        try await client.withTransaction { transaction in
            let rows = try await transaction.query(
                "select partita.serve_anew($1, $2)",
                [.text(app), partition.map { PostgresValue.text($0.text) } ?? .null])
            guard let row = rows.first else { throw DocumentStoreError(.corruptRow, "no answer") }
            try await beforeCommit?(transaction)
            return try row.decode(0)
        }
    }
}

extension CatchUp {
    /// The first row describes the snapshot; the others are entries.
    fileprivate init(_ rows: PostgresRows, from: Revision, isCounted: Bool, limit: Int) throws {
        guard let first = rows.first else { throw DocumentStoreError(.corruptRow, "a catch-up returned no rows") }
        self.from = from
        head = max(Revision(epoch: try first.decode(1), number: try first.decode(2)), from)
        remaining = isCounted ? try first.decode(3) : nil
        lastVersion = try first.decode(4)
        epoch = try first.decode(10)
        tombstoneHorizon = Revision(epoch: try first.decode(7), number: try first.decode(8))
        // One row more than the limit was read, to see whether something is left; rows beyond the limit of bytes have no body.
        var isComplete = true
        entries = []
        for row in rows.dropFirst() {
            guard entries.count < limit, try row.decode(11, as: Bool.self) else {
                isComplete = false
                break
            }
            entries.append(
                Entry(
                    collection: try row.decode(5), idText: try row.decode(6),
                    revision: Revision(epoch: try row.decode(1), number: try row.decode(2)),
                    incarnation: Revision(epoch: try row.decode(7), number: try row.decode(8)),
                    body: try row.withBytes(9) { $0.map(Array.init) }))
        }
        to = isComplete ? head : entries.last?.revision ?? from
    }
}

/// The statements of a catch-up.
private enum CatchUpSQL {
    /// `$1` app, `$2` partition, `$3`, `$4` checkpoint, `$5` user, `$6` device, `$7` rows, `$8` bytes, `$9` database, `$10` the
    /// tables' collections, `$11`, `$12` the revision after which deletions are read. One statement is one snapshot. Rows are cut by their
    /// compressed sizes first, and those that remain by their real ones: a document that compresses well may be a thousand times larger.
    ///
    /// The first row describes the snapshot; its columns for an incarnation have the tombstone horizon.
    ///
    /// - Parameter counts: Whether all remaining changes are counted, which takes time in proportion to their number.
    static func read(_ tables: [CollectionTable], counts: Bool) -> String {
        let since = "partition = $2 and (epoch, revision) > ($3::int, $4::bigint)"
        // Also of collections that aren't synced any more: devices may have what left the partition with that. `$3`, `$4` and `$10` are
        // named so that Postgres knows their types when no collection is synced.
        let buried = """
            app = $1 and database = $9 and $10::text[] is not null and \(since)
                and (epoch, revision) > ($11::int, $12::bigint)
            """
        let sources = tables.enumerated().map { place, table in
            """
            (select ($10::text[])[\(place + 1)] as collection, _id, epoch, revision, incarnation_epoch,
                incarnation, pg_column_size(body) as size, body
            from \(table.name) where \(since) order by epoch, revision limit $7)
            """
        }
        let tombstones = """
            (select collection, _id, epoch, revision, incarnation_epoch, incarnation, 64 as size, null::json as body
            from partita.tombstones
            where \(buried) order by epoch, revision limit $7)
            """
        let counted =
            tables.map { "(select count(*) from \($0.name) where \(since))" }
            + ["(select count(*) from partita.tombstones where \(buried))"]
        return """
            with met as (
                select *, sum(size) over behind <= $8 or row_number() over behind = 1 as fits
                from (\(([tombstones] + sources).joined(separator: " union all "))) m
                window behind as (order by epoch, revision)
                order by epoch, revision limit $7
            ), read as (
                select collection, _id, epoch, revision, incarnation_epoch, incarnation, fits,
                    case when fits then body::text end as body
                from met
            ), cut as (
                select *, fits and (
                    sum(coalesce(octet_length(body), 0)) over behind <= $8 or row_number() over behind = 1) as belongs
                from read window behind as (order by epoch, revision)
            )
            select 0 as entry, \(DocumentStore.headEpoch) as epoch, coalesce(p.head, 0) as revision,
                \(counts ? counted.joined(separator: " + ") : "0") as remaining,
                coalesce((select last_version from partita.uploads u where u.app = $1 and u.device = $6
                    and u.partition = $2 and u.user_id = $5), 0) as last_version,
                null::text as collection, null::text as _id, coalesce(h.epoch, 0) as incarnation_epoch,
                coalesce(h.revision, 0) as incarnation, null::text as body, partita.current_epoch() as present, true as fits
            from (select) one
            left join partita.partitions p on p.app = $1 and p.partition = $2
            left join partita.tombstone_horizons h on h.app = $1 and h.partition = $2
            union all
            select 1, e.epoch, e.revision, 0, 0, e.collection, e._id, e.incarnation_epoch, e.incarnation,
                case when e.belongs then e.body end, 0, e.belongs
            from cut e
            order by entry, epoch, revision
            """
    }

    /// `$1` apps, `$2` partitions.
    static let heads = """
        select p.app, p.partition, p.epoch, p.head
        from unnest($1::text[], $2::text[]) w(app, partition)
        join partita.partitions p on p.app = w.app and p.partition = w.partition
        """

    /// `$1` apps, `$2` partitions; `place` is that in the arrays.
    static let histories = """
        select w.place, present.epoch, p.epoch, p.head, e.epochs, e.heads, coalesce(p.anew, 0), present.epochs,
            coalesce(h.epoch, 0), coalesce(h.revision, 0)
        from (
            select partita.current_epoch() as epoch, array(select epoch from partita.epochs order by epoch) as epochs offset 0
        ) present, unnest($1::text[], $2::text[]) with ordinality w(app, partition, place)
        left join partita.partitions p on p.app = w.app and p.partition = w.partition
        left join partita.tombstone_horizons h on h.app = w.app and h.partition = w.partition
        cross join lateral (
            select coalesce(array_agg(e.epoch order by e.epoch), '{}') as epochs,
                coalesce(array_agg(e.head order by e.epoch), '{}') as heads
            from partita.epoch_ends e where e.app = w.app and e.partition = w.partition
        ) e
        """

    /// `$1` apps, `$2` partitions, `$3` users, `$4` devices; `place` is that in the arrays.
    static let standings = """
        select w.place, \(DocumentStore.headEpoch), coalesce(p.head, 0), coalesce(u.last_version, 0), coalesce(h.epoch, 0),
            coalesce(h.revision, 0), present.epoch
        from (select partita.current_epoch() as epoch offset 0) present,
            unnest($1::text[], $2::text[], $3::text[], $4::text[]) with ordinality w(app, partition, user_id, device, place)
        left join partita.partitions p on p.app = w.app and p.partition = w.partition
        left join partita.tombstone_horizons h on h.app = w.app and h.partition = w.partition
        left join partita.uploads u on u.app = w.app and u.device = w.device and u.partition = w.partition
            and u.user_id = w.user_id
        """
}
