public import DocumentModel
public import Postgres
public import SyncEngine

extension DocumentStore {
    /// A collection whose documents would be in other partitions under another definition.
    public struct Repartition: Hashable, Sendable {
        public let namespace: ChangeEvent.Namespace
        /// The field that is the partition of its documents now.
        @ExactText public private(set) var key: String
        /// The field that would be; `nil` if the collection wouldn't sync, the same as `key` if only the null partition would go.
        public let newKey: ExactText?
        /// How many of its documents are in partitions that devices can open.
        public let count: Int
        /// How many of these have no value for the new field, and would leave all devices.
        public let unplaced: Int
        /// How many devices have uploaded to these partitions.
        public let devices: Int
    }

    /// The collections of which documents would leave the partitions that devices can open, if the app had another definition. Counts
    /// all documents of these collections.
    public func repartitions(by storage: AppStorage) async throws -> [Repartition] {
        let rows = try await client.query(
            "select database, name, partition_key, null_partition from partita.collections where app = $1 order by database, name",
            [.text(storage.app)])
        let known = try rows.decode((String, String, String?, Bool).self)
        var found: [Repartition] = []
        for table in try await tables.all(of: storage.app) {
            let place = known.first {
                $0.0.hasSameBytes(as: table.namespace.database) && $0.1.hasSameBytes(as: table.namespace.collection)
            }
            guard let place, let key = place.2 else { continue }
            let newKey = storage.partitionKey(of: table.namespace)
            let hasNull = storage.hasNullPartition(of: table.namespace)
            let keepsKey = newKey.map { $0.hasSameBytes(as: key) } ?? false
            if keepsKey, hasNull || !place.3 { continue }
            // Those in the null partition are the only ones that leave theirs when nothing else changes.
            let isOpen = keepsKey ? "t.partition = 'n:'" : "(t.partition < 'i:' or t.partition >= 'i;')"
            let counts = try await client.query(
                """
                select count(*), count(*) filter (
                        where $1::text is null or not $3 and coalesce(t.document -> $1::text, 'null') = 'null'),
                    (select count(distinct (u.user_id, u.device)) from partita.uploads u where u.app = $2 and u.partition in (
                        select t.partition from \(table.name) t where \(isOpen)))
                from \(table.name) t where \(isOpen)
                """, [PostgresValue(newKey), .text(storage.app), .bool(hasNull)]
            ).decode((Int, Int, Int).self)
            guard let (count, unplaced, devices) = counts.first, count > 0 else { continue }
            found.append(
                Repartition(
                    namespace: table.namespace, key: key, newKey: newKey.map { ExactText($0) }, count: count,
                    unplaced: unplaced, devices: devices))
        }
        return found
    }

    /// Makes external writers use the partition keys of a definition, from the transaction's commit on.
    public static func setPartitionKeys(of storage: AppStorage, in transaction: PostgresTransaction) async throws {
        let rows = try await transaction.query(
            "select database, name, partition_key, null_partition from partita.collections where app = $1 order by database, name",
            [.text(storage.app)])
        for (database, name, key, hadNull) in try rows.decode((String, String, String?, Bool).self) {
            let namespace = ChangeEvent.Namespace(database: database, collection: name)
            let newKey = storage.partitionKey(of: namespace)
            let hasNull = storage.hasNullPartition(of: namespace)
            if newKey.map({ ExactText($0) }) == key.map({ ExactText($0) }), hasNull == hadNull { continue }
            try await transaction.execute(
                """
                update partita.collections set partition_key = $4, null_partition = $5
                where app = $1 and database = $2 and name = $3
                """,
                [.text(storage.app), .text(database), .text(name), PostgresValue(newKey), .bool(hasNull)])
        }
    }

    /// Moves an app's documents into the partitions that they belong to by the app's current definition, in transactions of some
    /// hundred documents. Each move is a normal change: devices get it, and triggers run. After an interruption it may be done again.
    ///
    /// - Parameter isComplete: looks at every document, as is necessary after the partition key has changed; otherwise only at documents of
    ///   collections that didn't sync before, or don't any more.
    /// - Returns: the collections from which documents were moved, and their numbers.
    public func repartition(
        app: String, isComplete: Bool = false
    ) async throws -> [(namespace: ChangeEvent.Namespace, count: Int)] {
        let storage = try storage(of: app)
        var moved: [(namespace: ChangeEvent.Namespace, count: Int)] = []
        for table in try await tables.all(of: app) {
            // External writers must use the same key from here on.
            _ = try await tables.keyed(table.namespace, of: storage)
            let key = storage.partitionKey(of: table.namespace)
            var count = 0
            var last: String? = ""
            while let after = last {
                let part = try await repartition(table, by: key, after: after, isComplete: isComplete)
                count += part.count
                last = part.last
            }
            if count > 0 { moved.append((table.namespace, count)) }
        }
        return moved
    }

    /// Moves documents in one transaction, whose changes are numbered like those of an external writer.
    /// - Returns: how many were moved, and the last document that was looked at; `nil` when there are no more.
    private func repartition(
        _ table: CollectionTable, by key: String?, after last: String, isComplete: Bool
    ) async throws -> (count: Int, last: String?) {
        let misplaced =
            isComplete
            ? "true"
            : key == nil
                ? "(t.partition < 'i:' or t.partition >= 'i;')"
                : """
                t.partition >= 'i:' and t.partition < 'i;'
                and partita.partition_of(c, partita.hide_nul(t.body::text), t._id) <> t.partition
                """
        return try await client.withTransaction { transaction in
            try await transaction.execute("select set_config('partita.writer', 'library', true)", [])
            let rows = try await transaction.query(
                """
                with page as (
                    select t._id, t.body, t.partition, t.epoch, t.revision, t.incarnation_epoch, t.incarnation,
                        partita.partition_of(c, partita.hide_nul(t.body::text), t._id) as target
                    from \(table.name) t join partita.collections c on c.relation = '\(table.name)'::regclass
                    where \(misplaced) and t._id > $1 order by t._id limit 500 for no key update of t
                ), found as (
                    select * from page where target is distinct from partition
                ), noted as (
                    insert into partita.pending (
                        xid, relation, _id, before, before_partition, before_epoch, before_revision,
                        before_incarnation_epoch, before_incarnation)
                    select pg_current_xact_id(), '\(table.name)'::regclass, _id, body, partition, epoch, revision,
                        incarnation_epoch, incarnation
                    from found
                ), moved as (
                    update \(table.name) t set partition = f.target, epoch = 0 from found f where t._id = f._id
                    returning 1
                )
                select (select count(*) from moved), (select count(*) from page), (select max(_id) from page)
                """, [.text(last)]
            ).decode((Int, Int, String?).self)
            guard let (count, seen, end) = rows.first else { return (0, nil) }
            if count > 0 {
                try await transaction.execute(
                    "insert into partita.pending_commits values (pg_current_xact_id()) on conflict do nothing", [])
            }
            return (count, seen == 500 ? end : nil)
        }
    }
}

extension DocumentStore {
    /// Devices that were built with the same version of an app's schema.
    public struct DeviceGroup: Hashable, Sendable {
        /// `nil` if it isn't known; 0 if the devices have said none.
        public let schemaVersion: Int64?
        public let count: Int

        public init(schemaVersion: Int64?, count: Int) {
            self.schemaVersion = schemaVersion
            self.count = count
        }
    }

    /// The devices that have written to the partitions of a collection in the last 30 days, by the version of the app's schema with which
    /// they last wrote there, the oldest first.
    public func recentDevices(of namespace: ChangeEvent.Namespace, app: String) async throws -> [DeviceGroup] {
        guard let table = try await tables.existing(namespace, of: app) else { return [] }
        return try await client.query(
            """
            select schema_version, count(*) from (
                select distinct on (u.user_id, u.device) u.schema_version from partita.uploads u
                where u.app = $1 and u.updated_at > now() - interval '30 days'
                    and u.partition in (
                        select t.partition from \(table.name) t where t.partition < 'i:' or t.partition >= 'i;')
                order by u.user_id, u.device, u.updated_at desc
            ) device
            group by schema_version order by schema_version nulls first
            """, [.text(app)]
        ).decode((Int64?, Int).self).map { DeviceGroup(schemaVersion: $0, count: $1) }
    }
}
