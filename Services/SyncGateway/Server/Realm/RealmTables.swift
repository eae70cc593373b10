import DocumentModel
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
        ])

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
        /// The version of the app that it was brought up to.
        var appVersion: Int64
        /// The collections whose changes of documents it has, as a JSON array in the order of their bytes.
        var collections: String

        /// A history without anything.
        static let empty = Standing(
            version: 0, base: 0, revision: EpochHistory.beginning, schema: [], appVersion: 0, collections: "[]")
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
            select r.version, r.base, r.epoch, r.revision, r.schema, r.app_version, r.collections, coalesce(p.epoch, partita.current_epoch()), coalesce(p.head, 0)
            from (values (1)) one left join partita.realm_partitions r on r.app = $1 and r.partition = $2
            left join partita.partitions p on p.app = $1 and p.partition = $2
            """, Self.place(key))
        guard let row = rows.first else { throw PostgresError(.decoding, "a partition's standing was not returned") }
        let (version, base, epoch, revision, schema, appVersion, collections, headEpoch, head) = try row.decode(
            (Int64?, Int64?, Int32?, Int64?, [UInt8]?, Int64?, String?, Int32, Int64).self)
        var standing: Standing?
        if let version, let base, let epoch, let revision, let schema, let appVersion, let collections {
            standing = Standing(
                version: version, base: base, revision: Revision(epoch: epoch, number: revision), schema: schema,
                appVersion: appVersion, collections: collections)
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

    static func place(_ key: PartitionKey) -> [PostgresValue] { [.text(key.app), .text(key.partition.text)] }
}

extension ObjectKey {
    /// The primary key as documents' tables have it.
    var idText: String { id.value.idText ?? "" }

    /// By which objects are put in order.
    var place: String { "\(table) \(idText)" }

    /// Whether Postgres can store the key.
    var isStorable: Bool { !place.utf8.contains(0) }
}
