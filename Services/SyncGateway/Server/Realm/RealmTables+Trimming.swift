import DocumentModel
import Postgres

extension RealmTables {
    /// What there is to remove of a partition.
    struct Trimming: Sendable {
        let key: PartitionKey
        /// The number of entries since the newest snapshot, or since the first entry.
        let growth: Int64
        /// Whether there are entries that no client needs.
        let isDue: Bool
    }

    /// The version that all clients of the partition `p` have, and from which new ones begin: entries up to it aren't needed. Null if new
    /// ones begin with the first entry.
    private static let floor = """
        (select least(max(s.version), (
            select min(greatest(f.base, f.upload_base, f.snapshot)) from partita.realm_files f
            where f.app = p.app and f.partition = p.partition and f.snapshot is not null))
        from partita.realm_snapshots s where s.app = p.app and s.partition = p.partition and s.version >= p.base
        having count(*) > 0)
        """

    /// The partitions after one, in their order.
    func trimmings(after last: PartitionKey?, limit: Int) async throws -> [Trimming] {
        let rows = try await client.query(
            """
            select p.app, p.partition, p.version - greatest(p.base, (
                select max(version) from partita.realm_snapshots where app = p.app and partition = p.partition)),
                coalesce(\(Self.floor) > p.base, false)
            from partita.realm_partitions p where (p.app, p.partition) > ($1, $2) order by p.app, p.partition limit $3
            """, [.text(last?.app ?? ""), .text(last?.partition.text ?? ""), .int(Int64(limit))])
        return try rows.map { row in
            let (app, partition, growth, isDue) = try row.decode((String, String, Int64, Bool).self)
            return Trimming(
                key: PartitionKey(app: app, partition: Partition(text: partition)), growth: growth, isDue: isDue)
        }
    }

    /// Removes what no client needs: entries, but for the last of them, by whose secret clients show what they have, and snapshots.
    func trim(_ key: PartitionKey) async throws {
        let place = Self.place(key)
        // A client that begins locks the partition, too.
        _ = try await client.pipeline(
            [
                PostgresStatement(
                    "select from partita.realm_partitions where app = $1 and partition = $2 for update", place),
                PostgresStatement(
                    """
                    update partita.realm_partitions p set base = \(Self.floor)
                    where app = $1 and partition = $2 and \(Self.floor) > base
                    """, place),
                PostgresStatement(
                    """
                    delete from partita.realm_snapshots s where app = $1 and partition = $2
                        and version < (select max(version) from partita.realm_snapshots where app = $1 and partition = $2)
                        and not exists (
                            select from partita.realm_files f where f.app = $1 and f.partition = $2
                                and f.snapshot = s.version and greatest(f.base, f.upload_base) < s.version)
                    """, place),
            ], in: .explicit)
        _ = try await client.pipeline(
            [
                PostgresStatement(
                    """
                    delete from partita.realm_history h using partita.realm_partitions p
                    where h.app = $1 and h.partition = $2 and p.app = $1 and p.partition = $2 and h.version < p.base
                    """, place),
                PostgresStatement(
                    """
                    delete from partita.realm_snapshot_parts t where app = $1 and partition = $2
                        and not exists (
                            select from partita.realm_snapshots s
                            where s.app = $1 and s.partition = $2 and s.version = t.snapshot)
                    """, place),
            ], in: .separate)
    }

    /// Notes that clients are there.
    func see(_ files: [(partition: PartitionKey, file: Int64)]) async throws {
        try await client.execute(
            """
            update partita.realm_files f set seen_at = now()
            from unnest($1::text[], $2::text[], $3::bigint[]) s(app, partition, file)
            where f.app = s.app and f.partition = s.partition and f.file = s.file
            """,
            [
                .textArray(files.map(\.partition.app)), .textArray(files.map(\.partition.partition.text)),
                .int8Array(files.map(\.file)),
            ])
    }

    /// Forgets client files that weren't there for a time: their clients begin anew when they come again.
    /// - Parameter limits: Other times of single apps.
    /// - Returns: how many.
    @discardableResult
    func forgetFiles(
        unseenFor time: Duration, of limits: [(app: String, limit: Duration)] = []
    ) async throws -> Int {
        try await client.execute(
            """
            with gone as (
                delete from partita.realm_files where seen_at < now() - coalesce(
                    (select seconds from unnest($2::text[], $3::bigint[]) l(id, seconds) where id = app), $1) * interval '1 second'
                    -- A client begins right after it gets its file.
                    or snapshot is null and seen_at < now() - interval '1 day'
                returning app, partition, file),
            forms as (
                delete from partita.realm_reciprocals r using gone g
                where r.app = g.app and r.partition = g.partition and r.file = g.file)
            select from gone
            """,
            [
                .int(time.components.seconds), .textArray(limits.map(\.app)),
                .int8Array(limits.map(\.limit.components.seconds)),
            ])
    }
}
