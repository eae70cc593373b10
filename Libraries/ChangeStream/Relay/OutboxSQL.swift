/// The statements of the relay.
enum OutboxSQL {
    /// `$1` apps, `$2` partitions, `$3` epochs, `$4` numbers up to which each is published (null: as recorded in the table), `$5`
    /// rows of each.
    static let read = """
        select w.place, \(ChangeRow.columns)
        from unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) with ordinality w(app, partition, epoch, number, place)
        left join partita.published p on p.app = w.app and p.partition = w.partition
        cross join lateral (
            select * from partita.changes c
            where c.app = w.app and c.partition = w.partition
                and (c.epoch, c.revision) > (coalesce(w.epoch, p.epoch, 0)::int, coalesce(w.number, p.revision, 0))
            order by c.epoch, c.revision limit $5
        ) c
        order by w.place, c.epoch, c.revision
        """

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
