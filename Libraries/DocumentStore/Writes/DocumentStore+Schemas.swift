import DocumentModel
public import DocumentSchema
import Postgres
import SyncEngine

extension DocumentStore {
    /// Stores the schemas of an app's collections for the triggers on their tables, which check the writes of external writers. The
    /// library itself checks with `AppStorage.validate`.
    ///
    /// - Parameter schemas: The schemas, of dialect `collection`; in collections without one, any document is valid.
    public func setSchemas(_ schemas: [ChangeEvent.Namespace: DocumentSchema], app: String) async throws {
        try await client.withTransaction { transaction in
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
}
