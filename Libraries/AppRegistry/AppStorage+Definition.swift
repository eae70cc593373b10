public import AppDefinition
import DocumentModel
public import DocumentStore

extension AppStorage {
    /// What a document store has to know about an app, from its definition: the partition key of its sync configuration, the
    /// collections with a schema, and those schemas.
    public init(_ app: AppDefinition) {
        var schemas: [ChangeEvent.Namespace: CollectionSchema] = [:]
        for collection in app.collections {
            let namespace = ChangeEvent.Namespace(database: collection.database, collection: collection.name)
            schemas[namespace] = collection.schema
        }
        let database = app.sync?.database ?? ""
        let synced = schemas.keys.filter { $0.database == database }.map(\.collection)
        let rules = schemas
        self.init(
            app: app.id, syncDatabase: database, partitionKey: app.sync?.partitionKey,
            syncedCollections: synced.isEmpty ? nil : Set(synced)
        ) { namespace, document in
            guard let violation = rules[namespace]?.validate(document).first else { return nil }
            return SchemaViolation(
                reason: violation.message, path: violation.path.isEmpty ? nil : violation.path)
        }
    }
}

extension AppDirectory {
    /// Tells a document store about each app, from now on; to be called before `run`.
    public func keep(_ store: DocumentStore) {
        onChange { change in
            switch change {
            case .deployed(let app): store.define(AppStorage(app.definition))
            case .removed(let app): store.undefine(app: app)
            }
        }
    }
}
