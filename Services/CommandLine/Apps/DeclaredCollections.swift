import AppDefinition
import DocumentModel
import DocumentStore
import ServiceEngines
import SyncEngine

/// Applies an app's declarations about its collections to Postgres: indexes, and the schemas that external writers must follow.
struct DeclaredCollections {
    private let definition: AppDefinition
    private let wanted: [(place: IndexDefinition, model: IndexModel)]
    /// The indexes that only the previous version declared.
    private let gone: [IndexDefinition]

    /// - Throws: `UsageError` that names the invalid index and the reason.
    init(_ definition: AppDefinition, formerly former: AppDefinition?) throws {
        self.definition = definition
        wanted = try definition.indexes.map { index in
            do throws(DocumentStoreError) {
                return (index, try IndexModel(index.specification))
            } catch {
                throw UsageError("partita.json: index \(index.name) of \(index.collection): \(error.message)")
            }
        }
        gone = (former?.indexes ?? []).filter { !definition.indexes.contains($0) }
    }

    /// Called once the version is current: moves documents of collections that are newly synced, or no longer synced, into their
    /// partitions.
    /// - Returns: a line for each collection that had such documents.
    func place(_ tool: Tool) async throws -> [String] {
        let store = DocumentStore(client: tool.postgres)
        store.define(AppStorage(definition))
        return try await store.repartition(app: definition.id).map {
            "\($0.count) documents of \($0.namespace.database).\($0.namespace.collection) are in other partitions now"
        }
    }

    func apply(_ tool: Tool) async throws {
        try await DocumentStore.migrations.apply(on: tool.postgres)
        let store = DocumentStore(client: tool.postgres)
        store.define(AppStorage(definition))
        // First, since a declaration that has changed may have kept its name.
        for index in gone { try await drop(index.name, of: index, in: store) }
        try await createIndexes(in: store)
        let schemas = definition.collections.compactMap { collection in
            collection.schema.map {
                (ChangeEvent.Namespace(database: collection.database, collection: collection.name), $0)
            }
        }
        try await store.setSchemas(Dictionary(schemas, uniquingKeysWith: { first, _ in first }), app: definition.id)
    }

    /// Creates the declared indexes. If one of them fails, the collections have the indexes of the version before again.
    private func createIndexes(in store: DocumentStore) async throws {
        var created: [(place: IndexDefinition, name: String)] = []
        for (place, model) in wanted {
            let collection = store.collection(place.collection, database: place.database, app: definition.id)
            do {
                let isThere = try await collection.indexes().contains { $0.name.hasSameBytes(as: model.name) }
                try await collection.createIndex(model)
                if !isThere { created.append((place, model.name)) }
            } catch {
                for (place, name) in created { try await drop(name, of: place, in: store) }
                for index in gone {
                    try await store.collection(index.collection, database: index.database, app: definition.id)
                        .createIndex(IndexModel(index.specification))
                }
                guard let error = error as? DocumentStoreError else { throw error }
                throw ToolError(
                    "partita.json: the index \(model.name) of \(place.database).\(place.collection) can't be created: \(error.message)"
                )
            }
        }
    }

    private func drop(_ name: String, of index: IndexDefinition, in store: DocumentStore) async throws {
        do {
            try await store.collection(index.collection, database: index.database, app: definition.id).dropIndex(name)
        } catch let error as DocumentStoreError where error.mongoCode == 26 || error.mongoCode == 27 {
            return  // already dropped
        }
    }
}
