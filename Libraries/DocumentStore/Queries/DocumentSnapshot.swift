public import DocumentModel
import Postgres

/// All documents of an app as they were at one point in time.
public struct DocumentSnapshot: Sendable {
    let store: DocumentStore
    let app: String
    let transaction: PostgresTransaction

    /// Passes the documents of a collection to `body` in the order in which they were inserted, with bounded memory.
    public func forEach(
        in namespace: ChangeEvent.Namespace, _ body: (Document) throws -> Void
    ) async throws {
        guard let table = try await store.tables.existing(namespace, of: app) else { return }
        for try await row in transaction.stream("select body from \(table.name) order by natural_order") {
            try body(row.document(0))
        }
    }
}

extension DocumentStore {
    /// The collections of an app that have tables, in the order of their names.
    public func collections(of app: String) async throws -> [ChangeEvent.Namespace] {
        try await tables.all(of: app).map(\.namespace)
    }

    /// Runs `body` with the documents as they are now, unaffected by concurrent writes.
    public func withSnapshot<R: Sendable>(
        app: String, _ body: @Sendable (DocumentSnapshot) async throws -> R
    ) async throws -> R {
        try await client.withTransaction(isolation: .snapshotReadOnly) { transaction in
            try await body(DocumentSnapshot(store: self, app: app, transaction: transaction))
        }
    }
}
