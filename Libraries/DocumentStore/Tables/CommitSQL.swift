import Postgres

/// The statements of a commit that don't concern a particular collection.
enum CommitSQL {
    /// The first statement of a transaction: disables the triggers for external writers. `$1` lock timeout.
    static let begin = "select set_config('partita.writer', 'library', true), set_config('lock_timeout', $1, true)"

    /// The epoch of a partition's next revision, in the conflict of an insert that has the current epoch. One may have begun while the
    /// statement waited for the partition's row: then the statement doesn't see it yet, but the row has it.
    static let latestEpoch = "greatest(excluded.epoch, p.epoch, p.anew)"

    /// Locks the partitions in their order and moves their heads: `$1` app, `$2` partitions in order, `$3` the number of revisions
    /// for each.
    ///
    /// The statements after it are planned once per connection: planning them for the arrays each time would cost more than the
    /// writes.
    static let number = """
        insert into partita.partitions as p (app, partition, epoch, head)
        select $1, w.partition, e.epoch, w.count
        from (
            select partita.current_epoch() as epoch, \(KeptPlans.setting) offset 0
        ) e, unnest($2::text[], $3::bigint[]) w(partition, count)
        order by w.partition collate "C"
        on conflict (app, partition) do update set epoch = \(latestEpoch), head = p.head + excluded.head
        returning partition, epoch, head
        """

    static let onTombstoneConflict = """
        on conflict (app, partition, database, collection, _id) do update set epoch = excluded.epoch,
            revision = excluded.revision, incarnation_epoch = excluded.incarnation_epoch,
            incarnation = excluded.incarnation, deleted_at = excluded.deleted_at
        """

    /// Change rows that aren't written by a collection's statements. `$1` app, then arrays by change.
    static let changes = """
        insert into partita.changes (
            app, partition, epoch, revision, database, collection, _id, operation, incarnation_epoch, incarnation,
            before, after, moved_partition, moved_epoch, moved_revision, origin_user, origin_device, origin_version)
        select $1, u.partition, p.epoch, p.head - u.back, u.database, u.collection, u._id, u.operation,
            case when u.incarnation_back is null then u.incarnation_epoch else p.epoch end,
            coalesce(p.head - u.incarnation_back, u.incarnation),
            u.before::json, u.after::json, u.moved_partition, m.epoch, m.head - u.moved_back,
            u.origin_user, u.origin_device, u.origin_version
        from unnest($2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::bigint[],
            $10::bigint[], $11::text[], $12::text[], $13::text[], $14::bigint[], $15::text[], $16::text[], $17::bigint[])
            u(partition, back, database, collection, _id, operation, incarnation_back, incarnation_epoch, incarnation,
                before, after, moved_partition, moved_back, origin_user, origin_device, origin_version)
        join partita.partitions p on p.app = $1 and p.partition = u.partition
        left join partita.partitions m on m.app = $1 and m.partition = u.moved_partition
        """

    /// Tombstones that aren't written by a collection's statements; only the last one of a document in a partition is passed.
    static let tombstones = """
        insert into partita.tombstones as t (
            app, partition, database, collection, _id, epoch, revision, incarnation_epoch, incarnation)
        select $1, u.partition, u.database, u.collection, u._id, p.epoch, p.head - u.back,
            case when u.incarnation_back is null then u.incarnation_epoch else p.epoch end,
            coalesce(p.head - u.incarnation_back, u.incarnation)
        from unnest($2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::bigint[])
            u(partition, back, database, collection, _id, incarnation_back, incarnation_epoch, incarnation)
        join partita.partitions p on p.app = $1 and p.partition = u.partition
        \(onTombstoneConflict)
        """
}
