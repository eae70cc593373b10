import DocumentModel
public import DocumentSchema
public import Postgres
import SyncEngine

extension DocumentStore {
    /// Stores the schemas of an app's collections for the triggers on their tables, which check the writes of external writers. The
    /// library itself checks with `AppStorage.validate`.
    ///
    /// - Parameter schemas: The schemas, of dialect `collection`; in collections without one, any document is valid.
    public func setSchemas(_ schemas: [ChangeEvent.Namespace: DocumentSchema], app: String) async throws {
        try await client.withTransaction { try await Self.setSchemas(schemas, app: app, in: $0) }
    }

    /// The same in a transaction of the caller.
    public static func setSchemas(
        _ schemas: [ChangeEvent.Namespace: DocumentSchema], app: String, in transaction: PostgresTransaction
    ) async throws {
        try await transaction.execute("delete from partita.schemas where app = $1", [.text(app)])
        for (namespace, schema) in schemas {
            try await transaction.execute(
                "insert into partita.schemas (app, database, collection, schema) values ($1, $2, $3, partita.hide_nul($4))",
                [
                    .text(app), .text(namespace.database), .text(namespace.collection),
                    .text(ExtendedJSON.print(.document(schema.postgresForm), mode: .canonical)),
                ])
        }
    }
}
