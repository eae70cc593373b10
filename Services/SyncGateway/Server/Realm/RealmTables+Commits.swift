import DocumentModel
import Postgres
import RealmSync

/// What is added to histories, of several partitions at once.
extension RealmTables {
    /// The user may not write in the partition.
    struct Forbidden: Error {}

    /// The statements that add to the histories of different partitions of an app. They fail with PT409 if a history isn't what it was, and
    /// with PT403 if a user may not write.
    static func statements(of commits: [RealmCommit]) -> [PostgresStatement] {
        guard let app = commits.first.map({ PostgresValue.text($0.key.app) }) else { return [] }
        var statements = [standings(of: commits, app)]
        for commit in commits where commit.addition.isReset { statements += removal(place(commit.key)) }
        return statements + entries(of: commits, app) + objects(of: commits, app) + files(of: commits, app)
            + checks(of: commits, app)
    }

    /// What an error of ``statements(of:)`` means; `nil` for errors of any transaction.
    static func refusal(_ error: PostgresError) -> (any Error)? {
        switch error.sqlstate {
        case "PT409": RealmRefusal.busy
        case "PT403": Forbidden()
        default: nil
        }
    }

    /// The revisions up to which the histories have the changes of documents then.
    /// - Parameter rows: Those of ``statements(of:)``.
    static func revisions(of commits: [RealmCommit], from rows: [PostgresRows]) throws -> [Revision] {
        guard let revisions = try rows.first?.decode((Int32, Int64).self), revisions.count == commits.count else {
            throw PostgresError(.decoding, "the histories' revisions were not returned")
        }
        return revisions.map { Revision(epoch: $0, number: $1) }
    }

    private static func standings(of commits: [RealmCommit], _ app: PostgresValue) -> PostgresStatement {
        let absorbed = commits.map(\.addition.absorbed), writes = commits.map(\.addition.writes)
        return PostgresStatement(
            """
            with moved as (
                update partita.realm_partitions r set version = g.version, schema = coalesce(g.schema, r.schema),
                    app_version = coalesce(g.next_app_version, r.app_version),
                    collections = coalesce(g.collections, r.collections),
                    base = coalesce(g.base, r.base), epoch = coalesce(g.epoch::int, r.epoch),
                    revision = coalesce(g.revision, (
                        select p.head from partita.partitions p
                        where p.app = $1 and p.partition = g.partition and p.epoch = g.since_epoch and p.head - g.since = (
                            select count(*) from partita.changes c
                            where c.app = $1 and c.partition = g.partition and c.epoch = g.since_epoch
                                and c.revision > g.since and c.xmin = pg_current_xact_id()::xid)), r.revision)
                from unnest(
                    $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bytea[], $8::bigint[], $9::bigint[],
                    $10::bigint[], $11::bigint[], $12::bigint[], $13::text[], $14::bigint[]) with ordinality
                    g(partition, former, version, epoch, revision, schema, base, since_epoch, since, app_version,
                        next_app_version, collections, salt, place)
                where r.app = $1 and r.partition = g.partition and r.version = g.former and r.app_version = g.app_version
                    -- A restored database may have another entry under the same version.
                    and g.salt = coalesce((
                        select h.salt from partita.realm_history h
                        where h.app = $1 and h.partition = g.partition and h.version = g.former), 0)
                returning g.place, r.epoch, r.revision)
            select m.epoch, m.revision
            from (select partita.require_count((select count(*) from moved), $15)) checked left join moved m on true
            order by m.place
            """,
            [
                app, .textArray(commits.map(\.key.partition.text)), .int8Array(commits.map(\.former.version)),
                .int8Array(commits.map { $0.addition.entries.last?.version ?? $0.former.version }),
                .int8Array(absorbed.map { ($0?.revision.epoch).map(Int64.init) }),
                .int8Array(absorbed.map { $0?.revision.number }), .byteaArray(absorbed.map { $0?.schema }),
                .int8Array(absorbed.map { $0?.base }), .int8Array(writes.map { ($0?.since.epoch).map(Int64.init) }),
                .int8Array(writes.map { $0?.since.number }), .int8Array(commits.map(\.former.appVersion)),
                .int8Array(absorbed.map { $0?.appVersion }), .textArray(absorbed.map { $0?.collections }),
                .int8Array(commits.map(\.former.salt)), .int(Int64(commits.count)),
            ])
    }

    private static func entries(of commits: [RealmCommit], _ app: PostgresValue) -> [PostgresStatement] {
        let entries = commits.flatMap { commit in commit.addition.entries.map { (commit.key.partition.text, $0) } }
        if entries.isEmpty { return [] }
        return [
            PostgresStatement(
                """
                insert into partita.realm_history
                    (app, partition, version, salt, file, client_version, acknowledges, origin_time, audience, bytes, refused)
                select $1, e.* from unnest(
                    $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[],
                    $10::bytea[], $11::text[]) e
                """,
                [
                    app, .textArray(entries.map(\.0)), .int8Array(entries.map(\.1.version)),
                    .int8Array(entries.map(\.1.salt)), .int8Array(entries.map(\.1.file)),
                    .int8Array(entries.map(\.1.clientVersion)), .int8Array(entries.map(\.1.acknowledges)),
                    .int8Array(entries.map(\.1.originTime)), .int8Array(entries.map(\.1.audience)),
                    .byteaArray(entries.map(\.1.bytes)),
                    .textArray(
                        entries.map { _, entry in
                            entry.refused.isEmpty
                                ? nil : ExtendedJSON.print(SessionError.CompensatingWrite.stored(entry.refused))
                        }),
                ])
        ]
    }

    private static func objects(of commits: [RealmCommit], _ app: PostgresValue) -> [PostgresStatement] {
        let objects = commits.flatMap { commit in
            commit.addition.objects.map { (partition: commit.key.partition.text, key: $0, object: $1) }
        }
        let kept = objects.compactMap { object in object.object.map { (object.partition, object.key, $0) } }
        let gone = objects.filter { $0.object == nil }
        var statements: [PostgresStatement] = []
        if !kept.isEmpty {
            statements.append(
                PostgresStatement(
                    """
                    insert into partita.realm_objects (app, partition, class, id, body)
                    select $1, o.* from unnest($2::text[], $3::text[], $4::text[], $5::text[]) o
                    on conflict (app, partition, class, id) do update set body = excluded.body
                    """,
                    [
                        app, .textArray(kept.map(\.0)), .textArray(kept.map(\.1.table)),
                        .textArray(kept.map(\.1.idText)),
                        .textArray(kept.map { ExtendedJSON.print($0.2, mode: .exact) }),
                    ]))
        }
        if !gone.isEmpty {
            statements.append(
                PostgresStatement(
                    """
                    delete from partita.realm_objects o using unnest($2::text[], $3::text[], $4::text[]) k(partition, class, id)
                    where o.app = $1 and o.partition = k.partition and o.class = k.class and o.id = k.id
                    """,
                    [
                        app, .textArray(gone.map(\.partition)), .textArray(gone.map(\.key.table)),
                        .textArray(gone.map(\.key.idText)),
                    ]))
        }
        return statements
    }

    private static func files(of commits: [RealmCommit], _ app: PostgresValue) -> [PostgresStatement] {
        let changes = commits.flatMap { commit in
            commit.addition.files.map { (partition: commit.key.partition.text, change: $0) }
        }
        if changes.isEmpty { return [] }
        let files = changes.map(\.change.file)
        var statements = [
            PostgresStatement(
                """
                with moved as (
                    update partita.realm_files f
                    set client_version = c.client_version, upload_base = c.upload_base, uploaded = c.uploaded,
                        acknowledged = c.acknowledged, seen_at = now()
                    from unnest(
                        $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[])
                        c(partition, file, client_version, upload_base, former, salt, uploaded, acknowledged)
                    where f.app = $1 and f.partition = c.partition and f.file = c.file and f.client_version = c.former
                        and f.salt = c.salt
                    returning 1)
                select partita.require_count(count(*), $10) from moved
                """,
                [
                    app, .textArray(changes.map(\.partition)), .int8Array(files.map(\.number)),
                    .int8Array(files.map(\.clientVersion)), .int8Array(files.map(\.uploadBase)),
                    .int8Array(changes.map(\.change.formerClientVersion)), .int8Array(files.map(\.salt)),
                    .int8Array(files.map(\.uploaded)), .int8Array(files.map(\.acknowledged)),
                    .int(Int64(changes.count)),
                ])
        ]
        let forms = changes.flatMap { partition, change in
            change.reciprocals.map { (partition, file: change.file.number, version: Int64($0.key), bytes: $0.value) }
        }
        if !forms.isEmpty {
            statements.append(
                PostgresStatement(
                    """
                    insert into partita.realm_reciprocals (app, partition, file, version, bytes)
                    select $1, v.* from unnest($2::text[], $3::bigint[], $4::bigint[], $5::bytea[]) v
                    on conflict (app, partition, file, version) do update set bytes = excluded.bytes
                    """,
                    [
                        app, .textArray(forms.map(\.0)), .int8Array(forms.map(\.file)),
                        .int8Array(forms.map(\.version)), .byteaArray(forms.map(\.bytes)),
                    ]))
        }
        return statements
    }

    /// What must hold when documents are written: their users may do it, and nobody else has changed them since the state with which the
    /// uploads were merged.
    private static func checks(of commits: [RealmCommit], _ app: PostgresValue) -> [PostgresStatement] {
        let writes = commits.compactMap { commit in
            commit.addition.writes.map { (partition: commit.key.partition.text, writes: $0) }
        }
        if writes.isEmpty { return [] }
        let users = writes.flatMap { partition, writes in
            writes.users.map { (partition: partition, user: $0, count: Int64(writes.ids.count)) }
        }
        let documents = writes.flatMap { partition, writes in
            zip(writes.collections, writes.ids).map { (partition: partition, collection: $0, id: $1) }
        }
        return [
            PostgresStatement(
                "select partita.require_write($1, $2::text[], $3::text[], $4::bigint[])",
                [
                    app, .textArray(users.map(\.partition)), .textArray(users.map(\.user)),
                    .int8Array(users.map(\.count)),
                ]),
            // What others have done to these documents since has to be merged first, or it would be overwritten.
            PostgresStatement(
                """
                select partita.require_count((
                    select count(*) from unnest($2::text[], $3::bigint[], $4::bigint[]) w(partition, epoch, since)
                    cross join lateral (
                        select c.collection, c._id from partita.changes c
                        where c.app = $1 and c.partition = w.partition and c.epoch = w.epoch and c.revision > w.since
                            and c.xmin <> pg_current_xact_id()::xid
                        -- Of newer epochs: by one condition with the others, Postgres would read all changes of the partition.
                        union all
                        select c.collection, c._id from partita.changes c
                        where c.app = $1 and c.partition = w.partition and c.epoch > w.epoch
                            and c.xmin <> pg_current_xact_id()::xid) c
                    where exists (
                        select from unnest($5::text[], $6::text[], $7::text[]) d(partition, collection, id)
                        where d.partition = w.partition and d.collection = c.collection and d.id = c._id)), 0)
                """,
                [
                    app, .textArray(writes.map(\.partition)), .int8Array(writes.map { Int64($0.writes.since.epoch) }),
                    .int8Array(writes.map(\.writes.since.number)), .textArray(documents.map(\.partition)),
                    .textArray(documents.map(\.collection)), .textArray(documents.map(\.id)),
                ]),
        ]
    }

    private static func removal(_ place: [PostgresValue]) -> [PostgresStatement] {
        [
            "realm_history", "realm_files", "realm_reciprocals", "realm_objects", "realm_snapshots",
            "realm_snapshot_parts",
        ].map {
            PostgresStatement("delete from partita.\($0) where app = $1 and partition = $2", place)
        }
    }
}
