import DocumentModel
import EventLoop
import Postgres

/// The table of a collection, and the statements that concern only it.
final class CollectionTable: Sendable {
    let app: String
    let namespace: ChangeEvent.Namespace
    /// The quoted name of the schema.
    let schema: String
    /// The quoted names of schema and table.
    let name: String
    let lockStatement: String
    let insertStatement: String
    let updateStatement: String
    let deleteStatement: String
    let numberStatement: String
    let updateOneStatement: String
    private let knownIndexes = Locked<(declared: [IndexModel], built: [CollectionIndex])>(([], []))

    /// The indexes that Postgres has, as they were last read. If one no longer exists, statements for it are slow, but not wrong.
    var indexes: [CollectionIndex] { knownIndexes.withLock { $0.built } }
    /// All indexes, including those that are only recorded.
    var declaredIndexes: [IndexModel] { knownIndexes.withLock { $0.declared } }

    func setIndexes(_ indexes: [CollectionIndex]) {
        let built = indexes.filter { $0.model.spherePath == nil }
        knownIndexes.withLock { $0 = (indexes.map(\.model), built) }
    }

    init(app: String, namespace: ChangeEvent.Namespace, schema: String, table: String) {
        self.app = app
        self.namespace = namespace
        self.schema = schema.postgresIdentifier
        name = "\(schema.postgresIdentifier).\(table.postgresIdentifier)"
        let sql = CollectionSQL(table: name)
        lockStatement = sql.lock
        insertStatement = sql.insert
        updateStatement = sql.update
        deleteStatement = sql.delete
        numberStatement = sql.number
        updateOneStatement = sql.updateOne
    }
}

/// Composes the statements of a table. Each writes many documents and their change rows at once.
///
/// `back` is how far before the partition's head a revision is: only the statements know the head, since
/// ``CommitSQL/number`` moves it in the same round trip.
private struct CollectionSQL {
    let table: String

    /// `$1` ids. For a document that another transaction has locked, it returns no document, but `busy`.
    ///
    /// A document is looked for by a scalar subquery, since the planner may answer `exists` by hashing the whole table.
    var lock: String {
        """
        select k.id, d.partition, d.epoch, d.revision, d.incarnation_epoch, d.incarnation, d.clocks, d.body,
            coalesce(d.partition is null and (select true from \(table) e where e._id = k.id), false) as busy
        from unnest($1::text[]) k(id)
        left join lateral (
            select * from \(table) t where t._id = k.id for no key update skip locked
        ) d on true
        """
    }

    private let changeColumns = """
        app, partition, epoch, revision, database, collection, _id, operation, incarnation_epoch, incarnation,
        before, after, origin_user, origin_device, origin_version
        """

    /// The rows that a statement has written aren't joined with others: the planner would expect few of them and loop over all
    /// pairs.
    private func written(from source: String, also columns: String = "") -> String {
        """
        written as (
            select u.*, p.epoch, p.head - u.back as revision, p.head - u.incarnation_back as own_incarnation\(columns)
            from unnest($4::text[], $5::text[], $6::bigint[], $7::text[], $8::text[], $9::text[], $10::bigint[],
                $11::bigint[], $12::bigint[], $13::text[], $14::text[], $15::text[], $16::text[], $17::bigint[])
            with ordinality u(_id, partition, back, body, document, clocks, incarnation_back, incarnation_epoch,
                incarnation, operation, before, origin_user, origin_device, origin_version, place)
            join partita.partitions p on p.app = $1 and p.partition = u.partition\(source)
        )
        """
    }

    /// `$1` app, `$2` database, `$3` collection, then arrays by document, in the order of the documents.
    var insert: String {
        """
        with \(written(from: "")), stored as (
            insert into \(table) (_id, partition, epoch, revision, incarnation_epoch, incarnation, clocks, body, document)
            select _id, partition, epoch, revision, epoch, own_incarnation, clocks::json, body::json, document::jsonb
            from written order by place
        )
        insert into partita.changes (\(changeColumns))
        select $1, partition, epoch, revision, $2, $3, _id, operation, epoch, own_incarnation,
            before::json, body::json, origin_user, origin_device, origin_version
        from written where operation is not null
        """
    }

    /// As `insert`. Without a `before` the change row gets the body that the table had.
    var update: String {
        """
        with \(written(from: " join \(table) o on o._id = u._id", also: ", o.body as old_body")), stored as (
            update \(table) t set partition = w.partition, epoch = w.epoch, revision = w.revision,
                incarnation_epoch = case when w.own_incarnation is null then w.incarnation_epoch else w.epoch end,
                incarnation = coalesce(w.own_incarnation, w.incarnation),
                clocks = w.clocks::json, body = w.body::json, document = w.document::jsonb, updated_at = now()
            from written w where t._id = w._id
        )
        insert into partita.changes (\(changeColumns))
        select $1, partition, epoch, revision, $2, $3, _id, operation,
            case when own_incarnation is null then incarnation_epoch else epoch end,
            coalesce(own_incarnation, incarnation),
            coalesce(before::json, old_body), body::json, origin_user, origin_device, origin_version
        from written where operation is not null
        """
    }

    /// Numbers and writes one document if it is still at the revision at which it was read: `$1` app, `$2` database,
    /// `$3` collection, `$4` id, `$5` epoch and `$6` number of that revision, `$7` partition, `$8` clocks, `$9` body,
    /// `$10` document, `$11` operation, `$12` lock timeout. Returns the partition's head as ``CommitSQL/number`` does, or no row.
    ///
    /// The partition is locked after the document, since its row is derived from the document's.
    var updateOne: String {
        """
        with settings as materialized (
            select set_config('partita.writer', 'library', true), set_config('lock_timeout', $12, true)
        ), locked as (
            select o.body, o.incarnation_epoch, o.incarnation from settings, \(table) o
            where o._id = $4 and o.epoch = $5 and o.revision = $6 for no key update of o
        ), head as (
            insert into partita.partitions as p (app, partition, epoch, head)
            select $1, $7, partita.current_epoch(), 1 from locked
            on conflict (app, partition) do update set epoch = \(CommitSQL.latestEpoch), head = p.head + 1
            returning epoch, head
        ), stored as (
            update \(table) t set epoch = head.epoch, revision = head.head, clocks = $8::json, body = $9::json,
                document = $10::jsonb, updated_at = now()
            from head where t._id = $4
        )
        insert into partita.changes (
            app, partition, epoch, revision, database, collection, _id, operation, incarnation_epoch, incarnation,
            before, after)
        select $1, $7, head.epoch, head.head, $2, $3, $4, $11, locked.incarnation_epoch, locked.incarnation,
            locked.body, $9::json
        from head, locked
        returning partition, epoch, revision
        """
    }

    /// `$1` app, `$2` database, `$3` collection, then arrays by document: id, partition, back, before, whether a change row is
    /// written here, origin.
    var delete: String {
        """
        with written as (
            select u.*, p.epoch, p.head - u.back as revision, o.incarnation_epoch, o.incarnation, o.body as old_body
            from unnest($4::text[], $5::text[], $6::bigint[], $7::text[], $8::bool[], $9::text[], $10::text[], $11::bigint[])
            u(_id, partition, back, before, logged, origin_user, origin_device, origin_version)
            join partita.partitions p on p.app = $1 and p.partition = u.partition
            join \(table) o on o._id = u._id
        ), removed as (
            delete from \(table) t using written w where t._id = w._id
        ), buried as (
            insert into partita.tombstones as t (
                app, partition, database, collection, _id, epoch, revision, incarnation_epoch, incarnation)
            select $1, partition, $2, $3, _id, epoch, revision, incarnation_epoch, incarnation
            from written where logged
            \(CommitSQL.onTombstoneConflict)
        )
        insert into partita.changes (\(changeColumns))
        select $1, partition, epoch, revision, $2, $3, _id, 'delete', incarnation_epoch, incarnation,
            coalesce(before::json, old_body), null, origin_user, origin_device, origin_version
        from written where logged
        """
    }

    /// Sets the revisions of rows that a transaction wrote without them: `$1` app, then arrays by document.
    var number: String {
        """
        update \(table) t set epoch = p.epoch, revision = p.head - u.back,
            incarnation_epoch = case when u.incarnation_back is null then t.incarnation_epoch else p.epoch end,
            incarnation = coalesce(p.head - u.incarnation_back, t.incarnation), clocks = u.clocks::json
        from unnest($2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::text[])
            u(_id, partition, back, incarnation_back, clocks)
        join partita.partitions p on p.app = $1 and p.partition = u.partition
        where t._id = u._id
        """
    }
}
