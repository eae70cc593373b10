import DocumentModel
import Postgres
import RealmSync

extension RealmTables {
    /// How much has been added to a history since what a new client would begin with.
    struct Growth: Sendable {
        /// The bytes of the newest snapshot; `nil` without one.
        var snapshot: Int64?
        /// The bytes of what comes after it.
        var added: Int64

        /// Whether a new snapshot is worth its making: a new client would download much more than what there is. What a snapshot costs is
        /// in proportion to what was added since the last one.
        var isLarge: Bool { added > max(Self.smallest, (snapshot ?? 0) / 2) }

        private static let smallest: Int64 = 256 << 10
    }

    func growth(of key: PartitionKey) async throws -> Growth {
        let rows = try await client.query(
            """
            with newest as (
                select s.version, s.bytes from partita.realm_snapshots s
                join partita.realm_partitions p on p.app = s.app and p.partition = s.partition and s.version >= p.base
                where s.app = $1 and s.partition = $2 order by s.version desc limit 1)
            select (select bytes from newest), (
                -- Each entry counts for what it costs besides its changeset, too.
                select coalesce(sum(length(bytes) + 128), 0)::bigint from partita.realm_history
                where app = $1 and partition = $2 and version > coalesce((select version from newest), 0))
            """, Self.place(key))
        guard let row = rows.first else { throw PostgresError(.decoding, "a history's growth was not returned") }
        let (snapshot, added) = try row.decode((Int64?, Int64).self)
        return Growth(snapshot: snapshot, added: added)
    }

    // MARK: Making one

    /// What a snapshot is made of.
    struct Source: Sendable {
        let version: Int64
        let schema: [UInt8]
        /// When the newest change was made, in milliseconds since 2015; 0 if that isn't known.
        let originTime: Int64
        /// The bytes of all objects.
        let bytes: Int64
    }

    /// - Parameter transaction: One that sees a single state.
    func source(of key: PartitionKey, in transaction: PostgresTransaction) async throws -> Source? {
        let rows = try await transaction.query(
            """
            select version, schema,
                greatest(
                    (select max(origin_time) from partita.realm_history where app = $1 and partition = $2),
                    (select max(origin_time) from partita.realm_snapshots where app = $1 and partition = $2), 0),
                coalesce((select sum(length(body)) from partita.realm_objects where app = $1 and partition = $2), 0)::bigint
            from partita.realm_partitions where app = $1 and partition = $2
            """, Self.place(key))
        return try rows.first.map { row in
            let (version, schema, time, bytes) = try row.decode((Int64, [UInt8], Int64, Int64).self)
            return Source(version: version, schema: schema, originTime: time, bytes: bytes)
        }
    }

    /// Objects with their bytes, in the order of their keys.
    /// - Parameters:
    ///   - limit: The largest number of objects.
    ///   - bytes: Where the page ends; it has at least one object, if there is any.
    func objects(
        of key: PartitionKey, after last: ObjectKey?, limit: Int, bytes: Int, in transaction: PostgresTransaction
    ) async throws -> [(key: ObjectKey, object: Document, bytes: Int)] {
        let rows = try await transaction.query(
            """
            select class, id, body from (
                select *, sum(octet_length(body)) over (order by class, id) - octet_length(body) as before from (
                    select class, id, body from partita.realm_objects
                    where app = $1 and partition = $2 and (class, id) > ($3, $4) order by class, id limit $5) o) o
            where before < $6 order by class, id
            """,
            Self.place(key) + [
                .text(last?.table ?? ""), .text(last?.idText ?? ""), .int(Int64(limit)), .int(Int64(bytes)),
            ])
        return try rows.map { row in
            let (table, id, body) = try row.decode((String, String, String).self)
            guard let id = Value(idText: id).flatMap({ ObjectKey.Id($0) }) else {
                throw PostgresError(.decoding, "an object of a history has a primary key that is none")
            }
            return (ObjectKey(table: table, id: id), try ExtendedJSON.parseDocument(body), body.utf8.count)
        }
    }

    func addPart(
        _ bytes: [UInt8], _ part: Int64, of snapshot: Int64, to key: PartitionKey, in transaction: PostgresTransaction
    ) async throws {
        try await transaction.execute(
            """
            insert into partita.realm_snapshot_parts (app, partition, snapshot, part, salt, bytes)
            values ($1, $2, $3, $4, $5, $6)
            """, Self.place(key) + [.int(snapshot), .int(part), .int(HistoryEntry.salt()), .bytea(bytes)])
    }

    func add(
        _ snapshot: HistorySnapshot, bytes: Int, to key: PartitionKey, in transaction: PostgresTransaction
    ) async throws {
        _ = try await transaction.pipeline(
            [
                PostgresStatement(
                    """
                    insert into partita.realm_snapshots (app, partition, version, parts, bytes, origin_time)
                    values ($1, $2, $3, $4, $5, $6)
                    """,
                    Self.place(key) + [
                        .int(snapshot.version), .int(snapshot.parts), .int(Int64(bytes)), .int(snapshot.originTime),
                    ]),
                // Who has the whole snapshot has the version, and shows its secret also when the snapshot is gone.
                PostgresStatement(
                    """
                    update partita.realm_snapshot_parts t set salt = h.salt from partita.realm_history h
                    where t.app = $1 and t.partition = $2 and t.snapshot = $3 and t.part = $4
                        and h.app = $1 and h.partition = $2 and h.version = $3
                    """, Self.place(key) + [.int(snapshot.version), .int(snapshot.parts)]),
            ], in: .implicit)
    }

    // MARK: Using one

    /// Notes that a client is there, and with what it begins, if it hasn't begun. Nothing is noted of a file of another user, or by one who
    /// doesn't know its secret: what files need isn't trimmed.
    func begin(_ file: Int64, salt: Int64, of user: String, in key: PartitionKey) async throws {
        // The partition is locked by a statement of its own, so that the next one sees what was removed until then.
        _ = try await client.pipeline(
            [
                PostgresStatement(
                    "select from partita.realm_partitions where app = $1 and partition = $2 for share", Self.place(key)),
                PostgresStatement(
                    """
                    update partita.realm_files f set seen_at = now(), snapshot = coalesce(f.snapshot, s.version, 0),
                        base = case when coalesce(f.snapshot, s.version) is null then greatest(f.base, p.base) else f.base end
                    from partita.realm_partitions p left join lateral (
                        select max(version) as version from partita.realm_snapshots
                        where app = p.app and partition = p.partition and version >= p.base) s on true
                    where f.app = $1 and f.partition = $2 and f.file = $3 and f.salt = $4 and f.user_id = $5
                        and p.app = $1 and p.partition = $2
                    """, Self.place(key) + [.int(file), .int(salt), .text(user)]),
            ], in: .explicit)
    }

    /// The changesets of a snapshot after a version, as the entries that they stand in for.
    /// - Parameters:
    ///   - bytes: Where the part of the snapshot ends; it has at least one changeset, if there is any.
    ///   - file: The client's that is sent them; what remains for it is counted then.
    func parts(
        of snapshot: HistorySnapshot, in key: PartitionKey, after version: Int64, bytes: Int = .max,
        for file: Int64? = nil
    ) async throws -> HistoryPart {
        let rows = try await client.query(
            """
            select part, salt, bytes, (
                select salt from partita.realm_snapshot_parts
                where app = $1 and partition = $2 and snapshot = $3 and part = $4),
                case when $6::bigint is not null then (
                    select coalesce(sum(length(bytes)), 0) from partita.realm_snapshot_parts
                    where app = $1 and partition = $2 and snapshot = $3 and part > $4) + (
                    select coalesce(sum(length(bytes)), 0) from partita.realm_history
                    where app = $1 and partition = $2 and version > $3 and file <> $6) end
            from (
                select *, sum(length(bytes)) over (order by part) - length(bytes) as before
                from partita.realm_snapshot_parts
                where app = $1 and partition = $2 and snapshot = $3 and part > $4) p
            where before < $5 order by part
            """,
            Self.place(key) + [
                .int(snapshot.version), .int(version - snapshot.beginning), .int(Int64(bytes)),
                PostgresValue(file),
            ])
        let entries = try rows.map { row in
            let (part, salt, bytes) = try row.decode((Int64, Int64, [UInt8]).self)
            return HistoryEntry(
                version: snapshot.beginning + part, salt: salt, file: 1, clientVersion: 0,
                originTime: snapshot.originTime, audience: nil, bytes: bytes)
        }
        return HistoryPart(
            after: try rows.first?.decode(3), entries, of: try rows.first?.decode(4, as: Int64?.self) ?? 0, for: file)
    }

    /// The secrets of versions as a client file has them; those that it doesn't have are left out.
    func salts(of versions: [Int64], for file: ClientFile, in key: PartitionKey) async throws -> [Int64: Int64] {
        if versions.isEmpty { return [:] }
        let snapshot = file.snapshot
        let rows = try await client.query(
            """
            select version, salt from partita.realm_history
            where app = $1 and partition = $2 and version = any($3::bigint[]) and version > $4
            union all
            select part + $5, salt from partita.realm_snapshot_parts
            where app = $1 and partition = $2 and snapshot = $4 and part + $5 = any($3::bigint[])
            """,
            Self.place(key) + [
                .int8Array(versions), .int(snapshot?.version ?? 0), .int(snapshot?.beginning ?? 0),
            ])
        return Dictionary(try rows.map { try $0.decode((Int64, Int64).self) }) { first, _ in first }
    }
}
