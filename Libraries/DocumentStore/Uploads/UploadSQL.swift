/// The statements about uploads and grants.
enum UploadSQL {
    /// `$1` app, `$2` users, `$3` devices, `$4` partitions. A counter that another transaction has locked is `busy`.
    static let lockCounters = """
        select k.user_id, k.device, k.partition, u.last_version, u.recent,
            u.last_version is null and exists (
                select from partita.uploads e where e.app = $1 and e.device = k.device
                and e.partition = k.partition and e.user_id = k.user_id) as busy
        from unnest($2::text[], $3::text[], $4::text[]) k(user_id, device, partition)
        left join lateral (
            select * from partita.uploads u where u.app = $1 and u.device = k.device
            and u.partition = k.partition and u.user_id = k.user_id for update skip locked
        ) u on true
        """

    /// `$1` app, `$2` partitions, `$3` users: who may write where. A grant to the user comes before one to everybody.
    static let grants = """
        select k.partition, k.user_id, coalesce((
            select g.access = 'write' from partita.grants g
            where g.app = $1 and g.partition = k.partition and g.user_id in (k.user_id, '*')
                and (g.expires_at is null or g.expires_at > clock_timestamp())
            order by g.user_id = '*' limit 1), false) as may_write
        from unnest($2::text[], $3::text[]) k(partition, user_id)
        """

    /// The same again under the partitions' locks: grants change under them, so what holds here holds at the commit.
    static let requireGrants = "select partita.require_write($1, $2::text[], $3::text[])"

    /// `$1` app, `$2` partitions.
    static let heads = """
        select k.partition, p.epoch, p.head from unnest($2::text[]) k(partition)
        left join partita.partitions p on p.app = $1 and p.partition = k.partition
        """

    /// `$1` app, `$2` users, `$3` devices, `$4` partitions, `$5` versions: what is to be said again.
    static let outcomes = """
        select k.place, o.outcome
        from unnest($2::text[], $3::text[], $4::text[], $5::bigint[]) with ordinality
            k(user_id, device, partition, version, place)
        join partita.upload_outcomes o on o.app = $1 and o.device = k.device and o.partition = k.partition
            and o.user_id = k.user_id and o.version = k.version
        """

    /// The bytes of the entries that a commit adds to counters, the revisions as the heads make them.
    private static let entries = """
        entries as (
            select e.row, string_agg(
                e.digest || int4send(coalesce(e.epoch, p.epoch)::int) || int8send(coalesce(e.number, p.head - e.back)),
                ''::bytea order by e.place) as bytes
            from unnest($7::bigint[], $8::bytea[], $9::bigint[], $10::bigint[], $11::bigint[], $12::text[]) with ordinality
                e(row, digest, back, epoch, number, partition, place)
            left join partita.partitions p on p.app = $1 and p.partition = e.partition
            group by e.row
        ), counters as (
            select k.*, k.kept || e.bytes as recent
            from unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::bytea[]) with ordinality
                k(user_id, device, partition, last_version, kept, row)
            join entries e using (row)
        )
        """

    static let updateCounters = """
        with \(entries)
        update partita.uploads u set last_version = c.last_version, recent = c.recent, updated_at = now()
        from counters c
        where u.app = $1 and u.device = c.device and u.partition = c.partition and u.user_id = c.user_id
        """

    /// No conflict clause: somebody who was faster makes the whole batch begin anew, and find the row.
    static let insertCounters = """
        with \(entries)
        insert into partita.uploads (app, user_id, device, partition, last_version, recent)
        select $1, c.user_id, c.device, c.partition, c.last_version, c.recent from counters c
        """

    static let insertOutcomes = """
        insert into partita.upload_outcomes (app, user_id, device, partition, version, outcome)
        select $1, o.user_id, o.device, o.partition, o.version, o.outcome::json
        from unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[])
            o(user_id, device, partition, version, outcome)
        """
}
