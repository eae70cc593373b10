import AppDefinition
import DocumentModel
import DocumentStore
import ServiceEngines

/// The indexes that an app declares, on their way into Postgres.
struct DeclaredIndexes {
    private let definition: AppDefinition
    private let wanted: [(place: IndexDefinition, model: IndexModel)]
    /// Declared by the version before, and no more.
    private let gone: [IndexDefinition]

    /// - Throws: `UsageError` that names the index and what is wrong with it.
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

    func apply(_ tool: Tool) async throws {
        if wanted.isEmpty, gone.isEmpty { return }
        try await DocumentStoreMigrations.migrations.apply(on: tool.postgres)
        let store = DocumentStore(client: tool.postgres)
        store.define(AppStorage(definition))
        for index in gone {
            do {
                try await store.collection(index.collection, database: index.database, app: definition.id)
                    .dropIndex(index.name)
            } catch let error as DocumentStoreError where error.mongoCode == 26 || error.mongoCode == 27 {
                continue  // somebody dropped it before
            }
        }
        for (place, model) in wanted {
            try await store.collection(place.collection, database: place.database, app: definition.id)
                .createIndex(model)
        }
    }
}
