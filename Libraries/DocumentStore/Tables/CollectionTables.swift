import DocumentModel
import EventLoop
import Postgres
import SyncEngine

/// Looks up the tables of collections, and creates tables.
final class CollectionTables: Sendable {
    private struct Key: Hashable {
        var app: ExactText
        var database: ExactText
        var collection: ExactText
    }

    /// How long the known indexes of a table are used before they are read again.
    private static let indexLifetime = Duration.seconds(10)

    private let client: PostgresClient
    private let known = Locked<[Key: CollectionTable]>([:])
    private let refreshed = Locked<[ExactText: ContinuousClock.Instant]>([:])

    init(client: PostgresClient) { self.client = client }

    private static func key(_ app: String, _ namespace: ChangeEvent.Namespace) -> Key {
        Key(app: ExactText(app), database: ExactText(namespace.database), collection: ExactText(namespace.collection))
    }

    /// The table; `nil` if it doesn't exist.
    func existing(_ namespace: ChangeEvent.Namespace, of app: String) async throws -> CollectionTable? {
        let key = Self.key(app, namespace)
        if let table = known.withLock({ $0[key] }) { return table }
        if namespace.database.utf8.contains(0) || namespace.collection.utf8.contains(0) {
            throw Self.invalid(namespace)
        }
        let rows = try await client.query(
            "select schema_name, table_name from partita.collections where app = $1 and database = $2 and name = $3",
            [.text(app), .text(namespace.database), .text(namespace.collection)])
        guard let row = rows.first else { return nil }
        return try remember(row, app: app, namespace: namespace)
    }

    /// The table, which is created if it doesn't exist.
    func ensured(_ namespace: ChangeEvent.Namespace, of storage: AppStorage) async throws -> CollectionTable {
        if let table = known.withLock({ $0[Self.key(storage.app, namespace)] }) { return table }
        return try await keyed(namespace, of: storage)
    }

    /// The table, which is created if it doesn't exist, with the partition key of the app's definition.
    func keyed(_ namespace: ChangeEvent.Namespace, of storage: AppStorage) async throws -> CollectionTable {
        try Self.check(namespace)
        let rows = try await client.query(
            "select c.schema_name, c.table_name from partita.ensure_collection($1, $2, $3, $4, $5) c",
            [
                .text(storage.app), .text(namespace.database), .text(namespace.collection),
                PostgresValue(storage.partitionKey(of: namespace)), .bool(storage.hasNullPartition(of: namespace)),
            ])
        guard let row = rows.first else {
            throw DocumentStoreError(.corruptRow, "ensure_collection returned nothing")
        }
        return try remember(row, app: storage.app, namespace: namespace)
    }

    /// The table with its indexes, which are at most `indexLifetime` out of date.
    func indexed(_ table: CollectionTable) async throws -> CollectionTable {
        let now = ContinuousClock.now
        // One caller reads the indexes; meanwhile the others use the known ones.
        let isDue = refreshed.withLock { refreshed in
            if let last = refreshed[table.name], now - last < Self.indexLifetime { return false }
            refreshed[table.name] = now
            return true
        }
        if isDue { try await refreshIndexes(of: table) }
        return table
    }

    /// Reads a table's indexes.
    func refreshIndexes(of table: CollectionTable) async throws {
        let rows = try await client.query(
            """
            select specification::text, relation, elements from partita.indexes
            where app = $1 and database = $2 and collection = $3 and is_ready order by created_at, name
            """,
            [.text(table.app), .text(table.namespace.database), .text(table.namespace.collection)])
        var indexes = try rows.map { row in
            let (text, relation, elements) = try row.decode((String, String, String?).self)
            return try CollectionIndex(
                IndexModel(ExtendedJSON.parseDocument(text)), relation: relation, elements: elements)
        }
        let places = indexes.indices.filter { indexes[$0].elements != nil }
        let looks = places.map { place in
            let index = indexes[place]
            let condition = index.predicate.map { " and (\($0))" } ?? ""
            return PostgresStatement(
                "select exists (select from \(table.name) where \(index.expression(0)) = '\\xff'\(condition))")
        }
        for (place, rows) in zip(places, looks.isEmpty ? [] : try await client.pipeline(looks)) {
            indexes[place].hasArrays = try rows.first?.decode(0) ?? false
        }
        table.setIndexes(indexes)
        refreshed.withLock { $0[table.name] = .now }
    }

    /// The table with this name in Postgres, if it has been looked up before.
    func known(schema: String, table: String) -> CollectionTable? {
        let name = "\(schema.postgresIdentifier).\(table.postgresIdentifier)"
        return known.withLock { known in known.values.first { $0.name.hasSameBytes(as: name) } }
    }

    /// Makes the next use of an app's tables look them up again.
    func forget(app: String) {
        known.withLock { known in known = known.filter { $0.key.app != ExactText(app) } }
    }

    /// All tables of an app, in the order of their names.
    func all(of app: String) async throws -> [CollectionTable] {
        let rows = try await client.query(
            "select schema_name, table_name, database, name from partita.collections where app = $1 order by database, name",
            [.text(app)])
        return try rows.map { row in
            let (_, _, database, name) = try row.decode((String, String, String, String).self)
            return try remember(row, app: app, namespace: .init(database: database, collection: name))
        }
    }

    private func remember(_ row: PostgresRow, app: String, namespace: ChangeEvent.Namespace) throws -> CollectionTable {
        let (schema, name) = try row.decode((String, String).self)
        let table = CollectionTable(app: app, namespace: namespace, schema: schema, table: name)
        return known.withLock { known in
            let key = Self.key(app, namespace)
            if let present = known[key], present.name.hasSameBytes(as: table.name) { return present }
            known[key] = table
            return table
        }
    }

    private static func check(_ namespace: ChangeEvent.Namespace) throws(DocumentStoreError) {
        if !namespace.isValid { throw invalid(namespace) }
    }

    private static func invalid(_ namespace: ChangeEvent.Namespace) -> DocumentStoreError {
        let name = "\(namespace.database).\(namespace.collection)".replacing("\0", with: "\u{FFFD}")
        return DocumentStoreError(.unknownCollection, "invalid namespace \(name)", mongoCode: 73)
    }
}
