import AppDefinition
import DocumentModel
public import SyncEngine

extension AppStorage {
    /// The part of an app's definition that the document store needs.
    public init(_ app: AppDefinition) {
        let schemas = Dictionary(
            app.collections.compactMap { collection in
                collection.schema.map {
                    (ChangeEvent.Namespace(database: collection.database, collection: collection.name), $0)
                }
            }, uniquingKeysWith: { first, _ in first })
        let sync = app.sync.flatMap { $0.isEnabled ? $0 : nil }
        self.init(
            app: app.id, syncDatabase: sync?.database ?? "", partitionKey: sync?.partitionKey,
            hasNullPartition: sync?.hasNullPartition ?? false,
            syncedCollections: app.collections.filter { app.syncVerdict(of: $0) == .synced }.map(\.name),
            validate: { namespace, document in
                schemas[namespace]?.firstViolation(in: document).map {
                    SchemaViolation(reason: $0.message, path: $0.path)
                }
            })
    }
}
