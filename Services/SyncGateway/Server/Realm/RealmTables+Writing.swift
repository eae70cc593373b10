import DocumentModel
import Postgres
import RealmSync

extension RealmTables {
    /// Makes an empty history, if there is none.
    func begin(_ key: PartitionKey) async throws {
        try await client.execute(
            """
            insert into partita.realm_partitions (app, partition, version, epoch, revision, schema)
            values ($1, $2, 0, 0, 0, '') on conflict do nothing
            """, Self.place(key))
    }

    /// The user may not write in the partition.
    struct Forbidden: Error {}

    /// - Parameters:
    ///   - former: What the history must still be: its version with its secret, and the version of the app.
    /// - Returns: the revision up to which the history has the changes of documents then.
    /// - Throws: ``RealmRefusal/busy`` if it has another one; ``Forbidden``.
    @discardableResult
    func add(
        _ addition: HistoryAddition, to key: PartitionKey, from former: HistoryStanding,
        in transaction: PostgresTransaction
    ) async throws -> Revision {
        let place = Self.place(key), version = addition.entries.last?.version ?? former.version,
            absorbed = addition.absorbed
        var statements = [
            PostgresStatement(
                """
                with moved as (
                    update partita.realm_partitions r set version = $4, schema = coalesce($7::bytea, schema),
                        app_version = coalesce($12::bigint, app_version),
                        collections = coalesce($13::text, collections),
                        base = coalesce($8::bigint, base), epoch = coalesce($5::int, epoch),
                        revision = coalesce($6::bigint, (
                            select p.head from partita.partitions p
                            where p.app = r.app and p.partition = r.partition and p.epoch = $9::int and p.head - $10::bigint = (
                                select count(*) from partita.changes c
                                where c.app = r.app and c.partition = r.partition and c.epoch = $9::int
                                    and c.revision > $10::bigint and c.xmin = pg_current_xact_id()::xid)), revision)
                    where app = $1 and partition = $2 and version = $3 and app_version = $11
                        -- A restored database may have another entry under the same version.
                        and $14 = coalesce((
                            select h.salt from partita.realm_history h
                            where h.app = r.app and h.partition = r.partition and h.version = $3), 0)
                    returning epoch, revision)
                select partita.require_count(count(*), 1), max(epoch), max(revision) from moved
                """,
                place + [
                    .int(former.version), .int(version), absorbed.map { .int(Int64($0.revision.epoch)) } ?? .null,
                    absorbed.map { .int($0.revision.number) } ?? .null, absorbed.map { .bytea($0.schema) } ?? .null,
                    absorbed.map { .int($0.base) } ?? .null,
                    addition.writes.map { .int(Int64($0.since.epoch)) } ?? .null,
                    addition.writes.map { .int($0.since.number) } ?? .null, .int(former.appVersion),
                    absorbed.map { .int($0.appVersion) } ?? .null,
                    absorbed.map { .text($0.collections) } ?? .null, .int(former.salt),
                ])
        ]
        if addition.isReset { statements += Self.removal(place) }
        if !addition.entries.isEmpty { statements.append(insertion(of: addition.entries, place)) }
        statements += objectStatements(addition.objects, place)
        statements += fileStatements(addition.files, place)
        if let writes = addition.writes {
            statements.append(
                PostgresStatement(
                    "select partita.require_write($1, $2::text[], $3::text[], $4::bigint[])",
                    [
                        .text(key.app), .textArray(writes.users.map { _ in key.partition.text }),
                        .textArray(writes.users),
                        .int8Array(writes.users.map { _ in Int64(writes.ids.count) }),
                    ]))
            // What others have done to these documents since has to be merged first, or it would be overwritten.
            statements.append(
                PostgresStatement(
                    """
                    select partita.require_count((
                        select count(*) from partita.changes c
                        join unnest($5::text[], $6::text[]) d(collection, id) on c.collection = d.collection and c._id = d.id
                        where c.app = $1 and c.partition = $2 and c.epoch = $3 and c.revision > $4
                            and c.xmin <> pg_current_xact_id()::xid) + (
                        -- Of newer epochs: by one condition with the others, Postgres would read all changes of the partition.
                        select count(*) from partita.changes c
                        join unnest($5::text[], $6::text[]) d(collection, id) on c.collection = d.collection and c._id = d.id
                        where c.app = $1 and c.partition = $2 and c.epoch > $3 and c.xmin <> pg_current_xact_id()::xid), 0)
                    """,
                    place + [
                        .int(Int64(writes.since.epoch)), .int(writes.since.number), .textArray(writes.collections),
                        .textArray(writes.ids),
                    ]))
        }
        do {
            guard let row = try await transaction.pipeline(statements)[0].first else {
                throw PostgresError(.decoding, "a history's revision was not returned")
            }
            return Revision(epoch: try row.decode(1), number: try row.decode(2))
        } catch let error as PostgresError where error.sqlstate == "PT409" {
            throw RealmRefusal.busy
        } catch let error as PostgresError where error.sqlstate == "PT403" {
            throw Forbidden()
        }
    }

    private func insertion(of entries: [HistoryEntry], _ place: [PostgresValue]) -> PostgresStatement {
        PostgresStatement(
            """
            insert into partita.realm_history
                (app, partition, version, salt, file, client_version, acknowledges, origin_time, audience, bytes, refused)
            select $1, $2, e.* from unnest(
                $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[],
                $10::bytea[], $11::text[]) e
            """,
            place + [
                .int8Array(entries.map(\.version)), .int8Array(entries.map(\.salt)), .int8Array(entries.map(\.file)),
                .int8Array(entries.map(\.clientVersion)), .int8Array(entries.map(\.acknowledges)),
                .int8Array(entries.map(\.originTime)),
                .int8Array(entries.map(\.audience)), .byteaArray(entries.map(\.bytes)),
                .textArray(
                    entries.map { entry in
                        entry.refused.isEmpty
                            ? nil : ExtendedJSON.print(SessionError.CompensatingWrite.stored(entry.refused))
                    }),
            ])
    }

    private func objectStatements(_ objects: [ObjectKey: Document?], _ place: [PostgresValue]) -> [PostgresStatement] {
        var statements: [PostgresStatement] = []
        let kept = objects.compactMap { key, object in object.map { (key, $0) } }
        let gone = objects.filter { $0.value == nil }.map(\.key)
        if !kept.isEmpty {
            statements.append(
                PostgresStatement(
                    """
                    insert into partita.realm_objects (app, partition, class, id, body)
                    select $1, $2, o.* from unnest($3::text[], $4::text[], $5::text[]) o
                    on conflict (app, partition, class, id) do update set body = excluded.body
                    """,
                    place + [
                        .textArray(kept.map(\.0.table)), .textArray(kept.map(\.0.idText)),
                        .textArray(kept.map { ExtendedJSON.print($0.1, mode: .exact) }),
                    ]))
        }
        if !gone.isEmpty {
            statements.append(
                PostgresStatement(
                    """
                    delete from partita.realm_objects o using unnest($3::text[], $4::text[]) k(class, id)
                    where o.app = $1 and o.partition = $2 and o.class = k.class and o.id = k.id
                    """, place + [.textArray(gone.map(\.table)), .textArray(gone.map(\.idText))]))
        }
        return statements
    }

    private func fileStatements(_ changes: [HistoryAddition.FileChange], _ place: [PostgresValue])
        -> [PostgresStatement]
    {
        if changes.isEmpty { return [] }
        var statements = [
            PostgresStatement(
                """
                with moved as (
                    update partita.realm_files f
                    set client_version = c.client_version, upload_base = c.upload_base, uploaded = c.uploaded,
                        acknowledged = c.acknowledged, seen_at = now()
                    from unnest($3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $8::bigint[], $9::bigint[], $10::bigint[])
                        c(file, client_version, upload_base, former, salt, uploaded, acknowledged)
                    where f.app = $1 and f.partition = $2 and f.file = c.file and f.client_version = c.former
                        and f.salt = c.salt
                    returning 1)
                select partita.require_count(count(*), $7) from moved
                """,
                place + [
                    .int8Array(changes.map(\.file.number)), .int8Array(changes.map(\.file.clientVersion)),
                    .int8Array(changes.map(\.file.uploadBase)), .int8Array(changes.map(\.formerClientVersion)),
                    .int(Int64(changes.count)), .int8Array(changes.map(\.file.salt)),
                    .int8Array(changes.map(\.file.uploaded)), .int8Array(changes.map(\.file.acknowledged)),
                ])
        ]
        let forms = changes.flatMap { change in
            change.reciprocals.map { (file: change.file.number, version: Int64($0.key), bytes: $0.value) }
        }
        if !forms.isEmpty {
            statements.append(
                PostgresStatement(
                    """
                    insert into partita.realm_reciprocals (app, partition, file, version, bytes)
                    select $1, $2, v.* from unnest($3::bigint[], $4::bigint[], $5::bytea[]) v
                    on conflict (app, partition, file, version) do update set bytes = excluded.bytes
                    """,
                    place + [
                        .int8Array(forms.map(\.file)), .int8Array(forms.map(\.version)),
                        .byteaArray(forms.map(\.bytes)),
                    ]))
        }
        return statements
    }

    private static func removal(_ place: [PostgresValue]) -> [PostgresStatement] {
        [
            "realm_history", "realm_files", "realm_reciprocals", "realm_objects", "realm_snapshots",
            "realm_snapshot_parts",
        ].map {
            PostgresStatement("delete from partita.\($0) where app = $1 and partition = $2", place)
        }
    }

    /// The most files that a user gets of a partition in an hour, if nobody else gets any: many devices may share an account, but not
    /// without end.
    private static let filesPerHour: Int64 = 10_000

    /// Gives a number and a secret to a new client file.
    /// - Throws: ``RealmRefusal/tooManyFiles``.
    func makeFile(of user: String, in key: PartitionKey) async throws -> ClientFile {
        let salt = HistoryEntry.salt()
        let rows = try await client.query(
            """
            with numbered as (
                update partita.realm_partitions set next_file = next_file + 1
                where app = $1 and partition = $2 and not exists (
                    select from partita.realm_files f
                    where f.app = $1 and f.partition = $2 and f.file = next_file - $5
                        and f.user_id = $4 and f.made_at > now() - interval '1 hour')
                returning next_file - 1 as file)
            insert into partita.realm_files (app, partition, file, salt, user_id)
            select $1, $2, file, $3, $4 from numbered returning file
            """, Self.place(key) + [.int(salt), .text(user), .int(Self.filesPerHour)])
        guard let number: Int64 = try rows.first?.decode(0) else { throw RealmRefusal.tooManyFiles }
        return ClientFile(number: number, salt: salt, user: user, clientVersion: 0, uploadBase: 0, base: 0)
    }

    /// Notes up to which version a client has the history: reciprocal forms up to there aren't needed any more.
    func note(_ version: Int64, of file: ClientFile, in key: PartitionKey) async throws {
        let values = Self.place(key) + [.int(file.number), .int(version), .int(file.salt)]
        _ = try await client.pipeline([
            PostgresStatement(
                """
                update partita.realm_files set base = greatest(base, $4), seen_at = now()
                where app = $1 and partition = $2 and file = $3 and salt = $5
                """, values),
            PostgresStatement(
                """
                delete from partita.realm_reciprocals r using partita.realm_files f
                where r.app = $1 and r.partition = $2 and r.file = $3 and r.version <= $4
                    and f.app = $1 and f.partition = $2 and f.file = $3 and f.salt = $5
                """, values),
        ])
    }
}
