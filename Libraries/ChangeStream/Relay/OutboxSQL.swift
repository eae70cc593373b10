/// The statements of the relay.
enum OutboxSQL {
    /// `$1` apps, `$2` partitions, `$3` epochs, `$4` numbers up to which each is published (null: as recorded in the table), `$5`
    /// rows of each, `$6` bytes of documents after which no row is read, `$7` bytes of a row's documents beyond which they aren't read.
    ///
    /// Returns the row's place in the arrays, ``ChangeRow/columns``, the size of its documents, and whether the next revision belongs to
    /// the same commit: it was written by the same transaction, which may have committed changesets of several devices. The last row
    /// of a partition ends a commit, since the partition was locked until then; so one row more is read than returned.
    static let read = """
        select c.place, \(ChangeRow.columns), c.size, c.continues
        from (
            select r.*, coalesce(
                    lead(r.writer) over run = r.writer and lead(r.origin_user) over run is not distinct from r.origin_user
                        and lead(r.origin_device) over run is not distinct from r.origin_device
                        and lead(r.origin_version) over run is not distinct from r.origin_version,
                    false) as continues,
                row_number() over run as number,
                sum(r.size) filter (where r.fits) over (
                    order by r.place, r.epoch, r.revision rows between unbounded preceding and 1 preceding) as bytes_before
            from (
                select w.place, \(documentless), z.size, z.size <= $7::bigint as fits, c.writer,
                    case when z.size <= $7::bigint then c.before end as before,
                    case when z.size <= $7::bigint then c.after end as after
                from unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[])
                    with ordinality w(app, partition, epoch, number, place)
                left join lateral (
                    select p.epoch, p.revision from partita.published p
                    where p.app = w.app and p.partition = w.partition offset 0
                ) p on true
                cross join lateral (
                    select x.xmin as writer, x.* from partita.changes x
                    where x.app = w.app and x.partition = w.partition
                        and (x.epoch, x.revision) > (coalesce(w.epoch, p.epoch, 0)::int, coalesce(w.number, p.revision, 0))
                    order by x.epoch, x.revision limit $5::bigint + 1
                ) c
                cross join lateral (select \(size(of: "c.before")) + \(size(of: "c.after")) as size) z
            ) r
            window run as (partition by r.place order by r.epoch, r.revision)
        ) c
        where c.number <= $5::bigint and coalesce(c.bytes_before, 0) < $6::bigint
        order by c.place, c.epoch, c.revision
        """

    private static let documentless = """
        c.app, c.partition, c.epoch, c.revision, c.database, c.collection, c._id, c.operation, c.incarnation_epoch,
        c.incarnation, c.moved_partition, c.moved_epoch, c.moved_revision, c.origin_user, c.origin_device, c.origin_version,
        c.wall_time, c.trigger_chain
        """

    private static func size(of body: String) -> String {
        """
        case when pg_column_compression(\(body)) is null then coalesce(pg_column_size(\(body)), 0)
            else octet_length(\(body)::text) end
        """
    }

    /// `$1` holder, then arrays: app, partition, epoch, number, shard, fence; `$8` the leases' name. A relay whose lease has passed
    /// to another marks nothing.
    static let mark = """
        insert into partita.published as p (app, partition, epoch, revision)
        select u.app, u.partition, u.epoch, u.number
        from unnest($2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
            u(app, partition, epoch, number, shard, fence)
        join partita.work_leases l on l.name = $8 and l.place = u.shard and l.fence = u.fence and l.holder = $1
        order by u.app collate "C", u.partition collate "C"
        on conflict (app, partition) do update set epoch = excluded.epoch, revision = excluded.revision
        where (p.epoch, p.revision) < (excluded.epoch, excluded.revision)
        """

    /// All partitions that have unpublished changes.
    static let sweep = """
        select h.app, h.partition from partita.partitions h
        left join partita.published p on p.app = h.app and p.partition = h.partition
        where p.app is null or (h.epoch, h.head) > (p.epoch, p.revision)
        """

    /// The partitions with unpublished changes that changed in the last `$1` seconds.
    static let recent = """
        select distinct c.app, c.partition from partita.changes c
        left join partita.published p on p.app = c.app and p.partition = c.partition
        where c.wall_time > now() - $1::bigint * interval '1 second'
            and (p.app is null or (c.epoch, c.revision) > (p.epoch, p.revision))
        """
}
