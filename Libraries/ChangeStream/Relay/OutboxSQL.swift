/// The statements of the relay.
enum OutboxSQL {
    /// `$1` holder, `$2` milliseconds. Returns how many relays are alive.
    static let join = """
        with me as (
            insert into partita.relay_members (holder, expires_at)
            values ($1, clock_timestamp() + $2::bigint * interval '1 millisecond')
            on conflict (holder) do update set expires_at = excluded.expires_at
        ), gone as (
            delete from partita.relay_members where expires_at < clock_timestamp() - interval '1 minute'
        )
        select count(*) + 1 from partita.relay_members where expires_at > clock_timestamp() and holder <> $1
        """

    /// `$1` holder, `$2` milliseconds, `$3` how many shards there are, `$4` how many this relay may lead. Renews those that are held and claims expired ones up to
    /// the share; what is above the share isn't renewed, and so expires.
    static let lease = """
        with mine as (
            select shard, row_number() over (order by shard) as place from partita.relay_leases
            where holder = $1 and expires_at > clock_timestamp()
        ), free as (
            select s as shard from generate_series(0, $3::int - 1) s
            left join partita.relay_leases l on l.shard = s
            where l.shard is null or l.expires_at <= clock_timestamp()
            order by random()
            limit greatest($4::int - (select count(*) from mine), 0)
        )
        insert into partita.relay_leases as l (shard, holder, fence, expires_at)
        select shard, $1, 1, clock_timestamp() + $2::bigint * interval '1 millisecond'
        from (select shard from mine where place <= $4::int union all select shard from free) wanted
        order by shard
        on conflict (shard) do update set
            fence = case when l.holder = excluded.holder and l.expires_at > clock_timestamp() then l.fence else l.fence + 1 end,
            holder = excluded.holder, expires_at = excluded.expires_at
        where l.expires_at <= clock_timestamp() or l.holder = excluded.holder
        returning shard, fence
        """

    /// `$1` holder: gives the leases back at the end.
    static let leave = """
        with gone as (delete from partita.relay_members where holder = $1)
        update partita.relay_leases set expires_at = clock_timestamp() where holder = $1
        """

    /// `$1` apps, `$2` partitions, `$3` epochs, `$4` numbers up to where each is published (null: as the table says), `$5` rows of each.
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

    /// `$1` holder, then arrays: app, partition, epoch, number, shard, fence. A relay whose lease went to another marks nothing.
    static let mark = """
        insert into partita.published as p (app, partition, epoch, revision)
        select u.app, u.partition, u.epoch, u.number
        from unnest($2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
            u(app, partition, epoch, number, shard, fence)
        join partita.relay_leases l on l.shard = u.shard and l.fence = u.fence and l.holder = $1
        order by u.app collate "C", u.partition collate "C"
        on conflict (app, partition) do update set epoch = excluded.epoch, revision = excluded.revision
        where (p.epoch, p.revision) < (excluded.epoch, excluded.revision)
        """

    /// All partitions that have something unpublished.
    static let sweep = """
        select h.app, h.partition from partita.partitions h
        left join partita.published p on p.app = h.app and p.partition = h.partition
        where p.app is null or (h.epoch, h.head) > (p.epoch, p.revision)
        """

    /// Those among them that changed in the last `$1` seconds.
    static let recent = """
        select distinct c.app, c.partition from partita.changes c
        left join partita.published p on p.app = c.app and p.partition = c.partition
        where c.wall_time > now() - $1::bigint * interval '1 second'
            and (p.app is null or (c.epoch, c.revision) > (p.epoch, p.revision))
        """
}
