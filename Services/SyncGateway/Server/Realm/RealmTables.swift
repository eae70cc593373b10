import DocumentModel
import Postgres
import RealmSync

/// The histories of partitions for the Realm SDKs' clients, in Postgres.
struct RealmTables: Sendable {
    static let migrations = Migrations(owner: "realm", files: [(1, "realm", PackageResources._001_realm_sql)])

    let client: PostgresClient

    /// What is known of a partition's history.
    struct Standing: Sendable {
        /// The newest version; 0 when there is no history yet.
        var version: Int64
        /// The version after which all entries are there: clients that have less begin anew, but for those that have a snapshot.
        var base: Int64
        /// The revision up to which changes of documents are in it.
        var revision: Revision
        /// The changeset that makes its classes.
        var schema: [UInt8]
    }

    /// A client file: a copy of a partition on a device.
    struct File: Sendable {
        let number: Int64
        let salt: Int64
        let user: String
        /// The client's newest version in the history, and the history's version that it is based on.
        var clientVersion: Int64
        var uploadBase: Int64
        /// The version up to which the client has the history.
        var base: Int64
        /// The version of the snapshot with which it began; 0 if that was the first entry.
        var begun: Int64 = 0
        /// That snapshot, as long as it is there.
        var snapshot: RealmSnapshot?

        /// Whether the client can begin: also once more, if it hasn't got anything yet.
        func canBegin(in standing: Standing) -> Bool {
            begun == 0 ? base <= standing.base : snapshot(in: standing) != nil && base < begun
        }

        /// The version with which the client begins.
        func beginning(of standing: Standing) -> Int64 { snapshot(in: standing)?.beginning ?? standing.base }

        /// Whether what the client has up to a version is followed by what there is.
        func canContinue(after version: Int64, in standing: Standing) -> Bool {
            version >= beginning(of: standing) && (version >= standing.base || snapshot(in: standing) != nil)
        }

        /// A snapshot of what there was before the history began anew isn't one of it.
        private func snapshot(in standing: Standing) -> RealmSnapshot? {
            snapshot.flatMap { $0.version >= standing.base ? $0 : nil }
        }
    }

    /// A changeset of the history.
    struct Entry: Sendable {
        var version: Int64
        var salt: Int64
        var file: Int64
        var clientVersion: Int64
        var originTime: Int64
        /// The only client file that gets it.
        var audience: Int64?
        var bytes: [UInt8]

        /// As a client sees it.
        func seen(by file: Int64) -> ServerHistory.Entry {
            let isHidden = audience.map { $0 != file } ?? false
            return ServerHistory.Entry(
                fileIdent: UInt64(self.file), clientVersion: UInt64(clientVersion),
                originTimestamp: UInt64(max(0, originTime)), bytes: isHidden ? [] : bytes)
        }

        static func salt() -> Int64 { Int64.random(in: 1...Int64.max) }
    }

    // MARK: Reading

    /// The history's standing, if there is one, and the partition's head.
    func standing(of key: PartitionKey) async throws -> (standing: Standing?, head: Revision) {
        let rows = try await client.query(
            """
            select r.version, r.base, r.epoch, r.revision, r.schema, coalesce(p.epoch, partita.current_epoch()), coalesce(p.head, 0)
            from (values (1)) one left join partita.realm_partitions r on r.app = $1 and r.partition = $2
            left join partita.partitions p on p.app = $1 and p.partition = $2
            """, Self.place(key))
        guard let row = rows.first else { throw PostgresError(.decoding, "a partition's standing was not returned") }
        let (version, base, epoch, revision, schema, headEpoch, head) = try row.decode(
            (Int64?, Int64?, Int32?, Int64?, [UInt8]?, Int32, Int64).self)
        var standing: Standing?
        if let version, let base, let epoch, let revision, let schema {
            standing = Standing(
                version: version, base: base, revision: Revision(epoch: epoch, number: revision), schema: schema)
        }
        return (standing, Revision(epoch: headEpoch, number: head))
    }

    func file(_ number: Int64, of key: PartitionKey) async throws -> File? {
        let rows = try await client.query(
            """
            select f.salt, f.user_id, f.client_version, f.upload_base, f.base, f.snapshot, s.version, s.parts, s.origin_time
            from partita.realm_files f left join partita.realm_snapshots s
            on s.app = f.app and s.partition = f.partition and s.version = f.snapshot
            where f.app = $1 and f.partition = $2 and f.file = $3
            """, Self.place(key) + [.int(number)])
        return try rows.first.map { row in
            let (salt, user, clientVersion, uploadBase, base, begun, version, parts, time) = try row.decode(
                (Int64, String, Int64, Int64, Int64, Int64?, Int64?, Int64?, Int64?).self)
            var file = File(
                number: number, salt: salt, user: user, clientVersion: clientVersion, uploadBase: uploadBase, base: base
            )
            file.begun = begun ?? 0
            if let version, let parts, let time {
                file.snapshot = RealmSnapshot(version: version, parts: parts, originTime: time)
            }
            return file
        }
    }

    /// The entries after a version, in their order.
    /// - Parameter bytes: Where the part ends; it has at least one entry, if there is any.
    func entries(of key: PartitionKey, after version: Int64, bytes: Int = .max) async throws -> [Entry] {
        let rows = try await client.query(
            """
            select version, salt, file, client_version, origin_time, audience, bytes from (
                select *, sum(length(bytes)) over (order by version) - length(bytes) as before from partita.realm_history
                where app = $1 and partition = $2 and version > $3) h
            where before < $4 order by version
            """, Self.place(key) + [.int(version), .int(Int64(bytes))])
        return try rows.map { row in
            let (version, salt, file, clientVersion, time, audience, bytes) = try row.decode(
                (Int64, Int64, Int64, Int64, Int64, Int64?, [UInt8]).self)
            return Entry(
                version: version, salt: salt, file: file, clientVersion: clientVersion, originTime: time,
                audience: audience, bytes: bytes)
        }
    }

    /// The secret of a version; `nil` if the history doesn't have it.
    func salt(of version: Int64, in key: PartitionKey) async throws -> Int64? {
        try await client.query(
            "select salt from partita.realm_history where app = $1 and partition = $2 and version = $3",
            Self.place(key) + [.int(version)]
        ).first?.decode(0)
    }

    func reciprocals(of file: Int64, after version: Int64, in key: PartitionKey) async throws -> [UInt64: [UInt8]] {
        let rows = try await client.query(
            """
            select version, bytes from partita.realm_reciprocals
            where app = $1 and partition = $2 and file = $3 and version > $4
            """, Self.place(key) + [.int(file), .int(version)])
        var reciprocals: [UInt64: [UInt8]] = [:]
        for row in rows {
            let (version, bytes) = try row.decode((Int64, [UInt8]).self)
            reciprocals[UInt64(version)] = bytes
        }
        return reciprocals
    }

    func objects(
        _ keys: some Sequence<ObjectKey>, of partition: PartitionKey
    ) async throws -> [ObjectKey: Document] {
        let keys = Array(keys)
        if keys.isEmpty { return [:] }
        let rows = try await client.query(
            """
            select k.place, o.body from unnest($3::text[], $4::text[]) with ordinality k(class, id, place)
            -- Laterally, so that each is looked up by its key: without statistics Postgres would read the whole partition instead.
            cross join lateral (
                select body from partita.realm_objects
                where app = $1 and partition = $2 and class = k.class and id = k.id limit 1) o
            """, Self.place(partition) + [.textArray(keys.map(\.table)), .textArray(keys.map(\.idText))])
        var objects: [ObjectKey: Document] = [:]
        for row in rows {
            let (place, body) = try row.decode((Int, String).self)
            objects[keys[place - 1]] = try ExtendedJSON.parseDocument(body)
        }
        return objects
    }

    /// The keys of all objects.
    func objectKeys(of key: PartitionKey) async throws -> Set<ObjectKey> {
        let rows = try await client.query(
            "select class, id from partita.realm_objects where app = $1 and partition = $2", Self.place(key))
        return Set(
            try rows.compactMap { row in
                let (table, id) = try row.decode((String, String).self)
                return Value(idText: id).flatMap { ObjectKey.Id($0) }.map { ObjectKey(table: table, id: $0) }
            })
    }

    // MARK: Writing

    /// Makes an empty history, if there is none.
    func begin(_ key: PartitionKey) async throws {
        try await client.execute(
            """
            insert into partita.realm_partitions (app, partition, version, epoch, revision, schema)
            values ($1, $2, 0, 0, 0, '') on conflict do nothing
            """, Self.place(key))
    }

    /// What a transaction adds to a history.
    struct Addition: Sendable {
        /// Whether what there was is removed first, with the clients' files. The numbers go on.
        var isReset = false
        var entries: [Entry] = []
        /// Objects as they are then; `nil` for those that are gone.
        var objects: [ObjectKey: Document?] = [:]
        var file: File?
        var reciprocals: [UInt64: [UInt8]] = [:]
        /// What the history is then; `nil` if it has taken in no more changes of documents, and has the same classes.
        var absorbed: Standing?
        /// What the transaction writes to documents, if it does.
        var writes: Writes?
    }

    /// Writes of documents as they are in the history then.
    struct Writes: Sendable {
        let user: String
        let count: Int
        /// The revision up to which the history had the changes of documents. If nobody else has changed any since, it has these, too.
        let since: Revision
    }

    /// The user may not write in the partition.
    struct Forbidden: Error {}

    /// - Parameters:
    ///   - former: The version that the history must still have.
    /// - Returns: the revision up to which the history has the changes of documents then.
    /// - Throws: ``RealmRefusal/busy`` if it has another one; ``Forbidden``.
    @discardableResult
    func add(
        _ addition: Addition, to key: PartitionKey, from former: Int64, in transaction: PostgresTransaction
    ) async throws -> Revision {
        let place = Self.place(key), version = addition.entries.last?.version ?? former, absorbed = addition.absorbed
        var statements = [
            PostgresStatement(
                """
                with moved as (
                    update partita.realm_partitions r set version = $4, schema = coalesce($7::bytea, schema),
                        base = coalesce($8::bigint, base), epoch = coalesce($5::int, epoch),
                        revision = coalesce($6::bigint, (
                            select p.head from partita.partitions p
                            where p.app = r.app and p.partition = r.partition and p.epoch = $9::int and p.head - $10::bigint = (
                                select count(*) from partita.changes c
                                where c.app = r.app and c.partition = r.partition and c.epoch = $9::int
                                    and c.revision > $10::bigint and c.xmin = pg_current_xact_id()::xid)), revision)
                    where app = $1 and partition = $2 and version = $3 returning epoch, revision)
                select partita.require_count(count(*), 1), max(epoch), max(revision) from moved
                """,
                place + [
                    .int(former), .int(version), absorbed.map { .int(Int64($0.revision.epoch)) } ?? .null,
                    absorbed.map { .int($0.revision.number) } ?? .null, absorbed.map { .bytea($0.schema) } ?? .null,
                    absorbed.map { .int($0.base) } ?? .null,
                    addition.writes.map { .int(Int64($0.since.epoch)) } ?? .null,
                    addition.writes.map { .int($0.since.number) } ?? .null,
                ])
        ]
        if addition.isReset { statements += Self.removal(place) }
        if !addition.entries.isEmpty { statements.append(insertion(of: addition.entries, place)) }
        statements += objectStatements(addition.objects, place)
        if let file = addition.file {
            statements.append(
                PostgresStatement(
                    """
                    update partita.realm_files set client_version = $4, upload_base = $5, seen_at = now()
                    where app = $1 and partition = $2 and file = $3
                    """, place + [.int(file.number), .int(file.clientVersion), .int(file.uploadBase)]))
            if !addition.reciprocals.isEmpty {
                let versions = addition.reciprocals.keys.sorted()
                statements.append(
                    PostgresStatement(
                        """
                        insert into partita.realm_reciprocals (app, partition, file, version, bytes)
                        select $1, $2, $3, v.version, v.bytes from unnest($4::bigint[], $5::bytea[]) v(version, bytes)
                        on conflict (app, partition, file, version) do update set bytes = excluded.bytes
                        """,
                        place + [
                            .int(file.number), .int8Array(versions.map { Int64($0) }),
                            .byteaArray(versions.map { addition.reciprocals[$0] ?? [] }),
                        ]))
            }
        }
        if let writes = addition.writes {
            statements.append(
                PostgresStatement(
                    "select partita.require_write($1, $2::text[], $3::text[], $4::bigint[])",
                    [
                        .text(key.app), .textArray([key.partition.text]), .textArray([writes.user]),
                        .int8Array([Int64(writes.count)]),
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

    private func insertion(of entries: [Entry], _ place: [PostgresValue]) -> PostgresStatement {
        PostgresStatement(
            """
            insert into partita.realm_history
                (app, partition, version, salt, file, client_version, origin_time, audience, bytes)
            select $1, $2, e.* from unnest(
                $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bytea[]) e
            """,
            place + [
                .int8Array(entries.map(\.version)), .int8Array(entries.map(\.salt)), .int8Array(entries.map(\.file)),
                .int8Array(entries.map(\.clientVersion)), .int8Array(entries.map(\.originTime)),
                .int8Array(entries.map(\.audience)), .byteaArray(entries.map(\.bytes)),
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

    private static func removal(_ place: [PostgresValue]) -> [PostgresStatement] {
        [
            "realm_history", "realm_files", "realm_reciprocals", "realm_objects", "realm_snapshots",
            "realm_snapshot_parts",
        ].map {
            PostgresStatement("delete from partita.\($0) where app = $1 and partition = $2", place)
        }
    }

    /// Gives a number and a secret to a new client file.
    func makeFile(of user: String, in key: PartitionKey) async throws -> File {
        let salt = Entry.salt()
        let rows = try await client.query(
            """
            with numbered as (
                update partita.realm_partitions set next_file = next_file + 1
                where app = $1 and partition = $2 returning next_file - 1 as file)
            insert into partita.realm_files (app, partition, file, salt, user_id)
            select $1, $2, file, $3, $4 from numbered returning file
            """, Self.place(key) + [.int(salt), .text(user)])
        guard let number: Int64 = try rows.first?.decode(0) else {
            throw PostgresError(.decoding, "a client file got no number")
        }
        return File(number: number, salt: salt, user: user, clientVersion: 0, uploadBase: 0, base: 0)
    }

    /// Notes how far a client is: reciprocal forms up to the version up to which it has the history aren't needed any more.
    func note(_ progress: RealmHistory.Progress, of file: Int64, in key: PartitionKey) async throws {
        _ = try await client.pipeline([
            PostgresStatement(
                """
                update partita.realm_files set base = greatest(base, $4), upload_base = greatest(upload_base, $4),
                    client_version = greatest(client_version, $5), seen_at = now()
                where app = $1 and partition = $2 and file = $3
                """, Self.place(key) + [.int(file), .int(progress.serverVersion), .int(progress.clientVersion)]),
            PostgresStatement(
                """
                delete from partita.realm_reciprocals
                where app = $1 and partition = $2 and file = $3 and version <= $4
                """, Self.place(key) + [.int(file), .int(progress.serverVersion)]),
        ])
    }

    static func place(_ key: PartitionKey) -> [PostgresValue] { [.text(key.app), .text(key.partition.text)] }
}

extension ObjectKey {
    /// The primary key as documents' tables have it.
    var idText: String { id.value.idText ?? "" }

    /// By which objects are put in order.
    var place: String { "\(table) \(idText)" }

    /// Whether Postgres can store the primary key.
    var isStorable: Bool { !idText.utf8.contains(0) }
}
