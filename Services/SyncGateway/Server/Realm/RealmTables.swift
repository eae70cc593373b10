import DocumentModel
import DocumentStore
import Postgres
import RealmSync
import SyncEngine

/// The histories of partitions for the Realm SDKs' clients, in Postgres.
struct RealmTables: Sendable {
    static let migrations = Migrations(
        owner: "realm",
        files: [
            (1, "realm", PackageResources._001_realm_sql),
            (2, "realm_versions", PackageResources._002_realm_versions_sql),
            (3, "realm_acknowledged", PackageResources._003_realm_acknowledged_sql),
        ])

    let client: PostgresClient

    // MARK: Reading

    /// The history's standing, if there is one, and the partition's head.
    func standing(of key: PartitionKey) async throws -> (standing: HistoryStanding?, head: Revision) {
        let rows = try await client.query(
            """
            select r.version, coalesce(h.salt, 0), r.base, r.epoch, r.revision, r.schema, r.app_version, r.collections,
                \(DocumentStore.headEpoch), coalesce(p.head, 0)
            from (values (1)) one left join partita.realm_partitions r on r.app = $1 and r.partition = $2
            left join partita.realm_history h on h.app = r.app and h.partition = r.partition and h.version = r.version
            left join partita.partitions p on p.app = $1 and p.partition = $2
            """, Self.place(key))
        guard let row = rows.first else { throw PostgresError(.decoding, "a partition's standing was not returned") }
        let (version, salt, base, epoch, revision, schema, appVersion, collections, headEpoch, head) = try row.decode(
            (Int64?, Int64, Int64?, Int32?, Int64?, [UInt8]?, Int64?, String?, Int32, Int64).self)
        var standing: HistoryStanding?
        if let version, let base, let epoch, let revision, let schema, let appVersion, let collections {
            standing = HistoryStanding(
                version: version, salt: salt, base: base, revision: Revision(epoch: epoch, number: revision),
                schema: schema,
                appVersion: appVersion, collections: collections)
        }
        return (standing, Revision(epoch: headEpoch, number: head))
    }

    /// Whether a user may write a partition now; `nil` if that isn't known.
    func mayWrite(_ user: String, in key: PartitionKey) async throws -> Bool? {
        try await client.query("select * from partita.may_write($1, $2, $3)", Self.place(key) + [.text(user)])
            .decode(Bool?.self).first ?? nil
    }

    func file(_ number: Int64, of key: PartitionKey) async throws -> ClientFile? {
        let rows = try await client.query(
            """
            select f.salt, f.user_id, f.client_version, f.upload_base, f.uploaded, f.acknowledged, f.base, f.snapshot, s.version, s.parts, s.origin_time
            from partita.realm_files f left join partita.realm_snapshots s
            on s.app = f.app and s.partition = f.partition and s.version = f.snapshot
            where f.app = $1 and f.partition = $2 and f.file = $3
            """, Self.place(key) + [.int(number)])
        return try rows.first.map { row in
            let (salt, user, clientVersion, uploadBase, uploaded, acknowledged, base, begun, version, parts, time) =
                try row.decode(
                    (Int64, String, Int64, Int64, Int64, Int64, Int64, Int64?, Int64?, Int64?, Int64?).self)
            var file = ClientFile(
                number: number, salt: salt, user: user, clientVersion: clientVersion, uploadBase: uploadBase, base: base
            )
            file.uploaded = uploaded
            file.acknowledged = acknowledged
            file.begun = begun ?? 0
            if let version, let parts, let time {
                file.snapshot = HistorySnapshot(version: version, parts: parts, originTime: time)
            }
            return file
        }
    }

    /// The entries after a version, in their order.
    /// - Parameters:
    ///   - bytes: Where the part ends; it has at least one entry, if there is any.
    ///   - file: The client's that is sent them; what remains for it is counted then.
    func entries(
        of key: PartitionKey, after version: Int64, bytes: Int = .max, for file: Int64? = nil
    ) async throws -> HistoryPart {
        let rows = try await client.query(
            """
            select version, salt, file, client_version, acknowledges, origin_time, audience, bytes, refused,
                (select salt from partita.realm_history where app = $1 and partition = $2 and version = $3),
                case when $5::bigint is not null then (
                    select sum(length(bytes)) from partita.realm_history
                    where app = $1 and partition = $2 and version > $3 and file <> $5) end
            from (
                select *, sum(length(bytes)) over (order by version) - length(bytes) as before from partita.realm_history
                where app = $1 and partition = $2 and version > $3) h
            where before < $4 order by version
            """, Self.place(key) + [.int(version), .int(Int64(bytes)), PostgresValue(file)])
        let entries = try rows.map { row in
            let (version, salt, file, clientVersion, acknowledges, time, audience, bytes, refused) = try row.decode(
                (Int64, Int64, Int64, Int64, Int64, Int64, Int64?, [UInt8], String?).self)
            var entry = HistoryEntry(
                version: version, salt: salt, file: file, clientVersion: clientVersion,
                acknowledges: acknowledges, originTime: time, audience: audience, bytes: bytes)
            if let refused {
                entry.refused = SessionError.CompensatingWrite.reading(try ExtendedJSON.parse(refused), at: version)
            }
            return entry
        }
        return HistoryPart(
            after: try rows.first?.decode(9), entries, of: try rows.first?.decode(10, as: Int64?.self) ?? 0, for: file)
    }

    /// What is acknowledged with a client's newest changeset up to a version; `nil` if there is none any more.
    func acknowledged(of file: Int64, at version: Int64, in key: PartitionKey) async throws -> Int64? {
        try await client.query(
            """
            select greatest(client_version, acknowledges) from partita.realm_history
            where app = $1 and partition = $2 and version <= $3 and file = $4 order by version desc limit 1
            """, Self.place(key) + [.int(version), .int(file)]
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

    static func place(_ key: PartitionKey) -> [PostgresValue] { [.text(key.app), .text(key.partition.text)] }
}
