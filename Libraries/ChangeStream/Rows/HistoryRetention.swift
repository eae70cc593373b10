import DocumentModel
public import Logging
import Metrics
public import Postgres

/// Drops change rows that are no longer needed, one day's table at a time, and old tombstones and upload outcomes.
///
/// A day stays until its changes are published, every consumer that is known in `partita.handled_events` has handled
/// them, and no paused trigger has missed one of them (`partita.trigger_missed_events`), but no longer than ``Options/limit``: when
/// that is reached, an error is logged and counted, and the day is dropped. A consumer that was that far behind skips the dropped
/// changes. The relay that leads the first shard runs it.
public struct HistoryRetention: Sendable {
    /// How long changes and tombstones are kept, in days.
    public struct Options: Sendable {
        /// The minimum number of days that changes are kept.
        public var days: Int
        /// The number of days after which changes are dropped, even if a consumer is behind.
        public var limit: Int
        /// The number of days that tombstones are kept; a device that was offline for longer is served from the start.
        public var tombstoneDays: Int

        public init(days: Int = 7, limit: Int = 30, tombstoneDays: Int = 180) {
            self.days = max(days, 1)
            self.limit = max(limit, days)
            self.tombstoneDays = max(tombstoneDays, 1)
        }
    }

    private let client: PostgresClient
    private let options: Options
    private let logger: Logger
    private let forced = Counter(
        label: "document_store_history_forced_drops_total",
        help: "Days of changes that were dropped although a consumer hadn't handled them.")

    public init(
        client: PostgresClient, options: Options = Options(), logger: Logger = Logger(label: "document-store.history")
    ) {
        self.client = client
        self.options = options
        self.logger = logger
    }

    /// Drops the days and the old tombstones and upload outcomes that are due.
    /// - Returns: the days that were dropped, as `YYYYMMDD`.
    @discardableResult
    public func sweep() async throws -> [String] {
        var dropped: [String] = []
        for row in try await client.query(
            RetentionSQL.due, [.int(Int64(options.days)), .int(Int64(options.limit))])
        {
            let (day, isOverdue) = try row.decode((String, Bool).self)
            if try await isNeeded(day) {
                guard isOverdue else {
                    logger.warning(
                        "changes are kept for a consumer that is behind, or a paused trigger",
                        metadata: ["day": "\(day)"])
                    continue
                }
                forced.increment()
                logger.error("changes were dropped that a consumer has not handled", metadata: ["day": "\(day)"])
            }
            try await drop("partita.\("changes_\(day)".postgresIdentifier)")
            dropped.append(day)
        }
        let age = PostgresValue.int(Int64(options.tombstoneDays))
        try await dropTombstones(age)
        try await client.deleteOldest(
            from: "partita.upload_outcomes", by: "created_at",
            where: "created_at < now() - $1::bigint * interval '1 day'", [age])
        return dropped
    }

    /// How many rows one statement drops: a short one holds up nothing, however many are due.
    static let batch = 5000

    /// Drops tombstones that are too old, until none is left.
    private func dropTombstones(_ age: PostgresValue) async throws {
        var dropped: Int
        repeat {
            let rows = try await client.query(RetentionSQL.dropTombstones, [age, .int(Int64(Self.batch))])
            dropped = try rows.first?.decode(0) ?? 0
        } while dropped == Self.batch
    }

    /// Drops a day's table after detaching it: dropping an attached table would lock all changes.
    private func drop(_ table: String) async throws {
        do {
            try await client.execute("alter table partita.changes detach partition \(table) concurrently")
        } catch let error as PostgresError where error.sqlstate == "55000" {
            // An earlier attempt was interrupted half-way.
            try await client.execute("alter table partita.changes detach partition \(table) finalize")
        }
        try await client.execute("drop table \(table)")
    }

    private func isNeeded(_ day: String) async throws -> Bool {
        let table = "partita.\("changes_\(day)".postgresIdentifier)"
        let unpublished = try await client.query(RetentionSQL.unpublished(table))
        if !unpublished.isEmpty { return true }
        // Tables of services that may not have started yet.
        for (other, needs) in [
            ("partita.handled_events", RetentionSQL.unhandled(table)),
            ("partita.trigger_missed_events", RetentionSQL.missed(table)),
        ] {
            let exists = try await client.query("select to_regclass($1) is not null", [.text(other)])
                .first?.decode(0, as: Bool.self)
            if exists == true, try await !client.query(needs).isEmpty { return true }
        }
        return false
    }
}

private enum RetentionSQL {
    /// `$1` days, `$2` limit.
    static let due = """
        select right(c.relname, 8), to_date(right(c.relname, 8), 'YYYYMMDD') < (now() at time zone 'UTC')::date - $2::int
        from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'partita.changes'::regclass and c.relname ~ '^changes_[0-9]{8}$'
            and to_date(right(c.relname, 8), 'YYYYMMDD') < (now() at time zone 'UTC')::date - $1::int
        order by c.relname
        """

    static func unpublished(_ table: String) -> String {
        """
        select 1 from \(table) c left join partita.published p on p.app = c.app and p.partition = c.partition
        where p.app is null or (c.epoch, c.revision) > (p.epoch, p.revision) limit 1
        """
    }

    /// A consumer that has handled something of a partition is expected to handle the rest.
    static func unhandled(_ table: String) -> String {
        """
        select 1 from (select app, partition, max(revision) as last from \(table) group by app, partition) c
        join partita.handled_events h on h.app = c.app and h.partition = c.partition
        where h.watermark < c.last limit 1
        """
    }

    /// What a paused trigger is to run for when it is resumed.
    static func missed(_ table: String) -> String {
        """
        select 1 from partita.trigger_missed_events m
        where exists (
            select from \(table) c where c.app = m.app and c.partition = m.partition and c.epoch = m.epoch and c.revision = m.revision)
        limit 1
        """
    }

    /// `$1` days, `$2` rows. Records the revision up to which a partition's tombstones were dropped, and returns their number.
    static let dropTombstones = """
        with dropped as (
            delete from partita.tombstones where ctid = any(array(
                select ctid from partita.tombstones where deleted_at < now() - $1::bigint * interval '1 day'
                order by deleted_at limit $2))
            returning app, partition, epoch, revision
        ), recorded as (
            insert into partita.tombstone_horizons as h (app, partition, epoch, revision)
            select distinct on (app, partition) app, partition, epoch, revision from dropped
            order by app, partition, epoch desc, revision desc
            on conflict (app, partition) do update set epoch = excluded.epoch, revision = excluded.revision
            where (h.epoch, h.revision) < (excluded.epoch, excluded.revision)
        )
        select count(*) from dropped
        """
}
