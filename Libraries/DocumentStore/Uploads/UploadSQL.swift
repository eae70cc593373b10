import Postgres

/// The statements about uploads and grants. Look-ups end with `offset 0`, which keeps the planner from joining whole tables.
enum UploadSQL {
    /// The first statement of a batch, all statements of which have kept plans. `$1` lock timeout.
    static let begin = "\(CommitSQL.begin), \(KeptPlans.settings)"

    /// `$1` app, `$2` users, `$3` devices, `$4` partitions. They are read without a lock: the statement that writes them fails if
    /// another transaction was faster.
    static let counters = """
        select k.user_id, k.device, k.partition, u.last_version, u.recent, u.is_closed
        from unnest($2::text[], $3::text[], $4::text[]) k(user_id, device, partition)
        left join lateral (
            select u.last_version, u.recent, u.is_closed from partita.uploads u
            where u.app = $1 and u.device = k.device and u.partition = k.partition and u.user_id = k.user_id offset 0
        ) u on true
        """

    /// `$1` app, `$2` partitions, `$3` users: whether each user may write the partition at the same place; null if that isn't known now.
    static let grants = """
        select k.partition, k.user_id, may_write from unnest($2::text[], $3::text[]) k(partition, user_id)
        cross join lateral partita.may_write($1, k.partition, k.user_id) may_write
        """

    /// Checks the grants again under the partitions' locks: grants change only under these locks, so the answer still holds at the
    /// commit.
    static let requireGrants = "select partita.require_write($1, $2::text[], $3::text[], $4::bigint[])"

    /// `$1` app, `$2` partitions.
    static let heads = """
        select k.partition, p.epoch, p.head from unnest($2::text[]) k(partition)
        left join lateral (
            select p.epoch, p.head from partita.partitions p where p.app = $1 and p.partition = k.partition offset 0
        ) p on true
        """

    /// `$1` app, `$2` users, `$3` devices, `$4` partitions, `$5` versions: the stored outcomes of changesets.
    static let outcomes = """
        select k.place, o.outcome
        from unnest($2::text[], $3::text[], $4::text[], $5::bigint[]) with ordinality
            k(user_id, device, partition, version, place)
        join partita.upload_outcomes o on o.app = $1 and o.device = k.device and o.partition = k.partition
            and o.user_id = k.user_id and o.version = k.version
        """

    /// `$1` app, then arrays by counter: user, device, partition, last version, bytes of the entries that are kept, first index and
    /// number of those that are added; then arrays by entry: digest, and revision as a distance from the head, or as it is; last,
    /// by counter, the version that was read, whether it is closed, and the version of the app's schema. Arrays of numbers can be read at
    /// any index in constant time, arrays of bytes can't.
    private static let entries = """
        counters as (
            select k.user_id, k.device, k.partition, k.last_version, k.read_version, k.is_closed, k.schema_version,
                k.kept || coalesce((select string_agg(
                    int8send(($9::bigint[])[i]) || int4send(coalesce(($11::bigint[])[i], p.epoch)::int)
                    || int8send(coalesce(($12::bigint[])[i], p.head - ($10::bigint[])[i])), ''::bytea order by i)
                from generate_series(k.first, k.first + k.added - 1) i
            ), ''::bytea) as recent
            from unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::bytea[], $7::bigint[], $8::bigint[],
                $13::bigint[], $14::boolean[], $15::bigint[])
                k(user_id, device, partition, last_version, kept, first, added, read_version, is_closed, schema_version)
            left join partita.partitions p on p.app = $1 and p.partition = k.partition
        )
        """

    static let updateCounters = """
        with \(entries), updated as (
            update partita.uploads u set
                last_version = c.last_version, recent = c.recent, is_closed = c.is_closed,
                schema_version = coalesce(c.schema_version, u.schema_version), updated_at = now()
            from counters c
            where u.app = $1 and u.device = c.device and u.partition = c.partition and u.user_id = c.user_id
                and u.last_version = c.read_version and not u.is_closed
            returning 1
        )
        select partita.require_count(count(*), cardinality($2::text[])) from updated
        """

    /// No conflict clause: after a faster concurrent insert, the whole batch starts again and finds the row.
    static let insertCounters = """
        with \(entries)
        insert into partita.uploads (app, user_id, device, partition, last_version, recent, is_closed, schema_version)
        select $1, c.user_id, c.device, c.partition, c.last_version, c.recent, c.is_closed, c.schema_version from counters c
        """

    static let insertOutcomes = """
        insert into partita.upload_outcomes (app, user_id, device, partition, version, outcome)
        select $1, o.user_id, o.device, o.partition, o.version, o.outcome::json
        from unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[])
            o(user_id, device, partition, version, outcome)
        """
}
