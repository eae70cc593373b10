import DocumentModel
import DocumentStore
import Postgres

/// The rows of documents and of their change rows, ready to be copied into Postgres.
struct CopiedRows: Sendable {
    private let collection: String
    private let documents: [[PostgresValue]]
    private let changes: [[PostgresValue]]
    private let partitions: [[String]]
    private let batch: Int

    /// - Parameter revision: Behind which the partitions' heads go on; the rows' revisions are made up.
    init(_ documents: [Document], collection: String, batch: Int, after revision: Int64) {
        self.collection = collection
        self.batch = batch
        var rows: (documents: [[PostgresValue]], changes: [[PostgresValue]]) = ([], [])
        for (number, document) in documents.enumerated() {
            let id = PostgresValue.text(document.id?.keyText ?? "")
            let partition = PostgresValue.text(DocumentWorld.partition(document))
            let number = PostgresValue.int(revision + Int64(number) + 1)
            let body = PostgresValue.utf8(DocumentWorld.body(document))
            rows.documents.append([
                id, partition, 1, number, 1, number, .text(DocumentWorld.clocks), body,
                .utf8(DocumentWorld.plain(document)),
            ])
            rows.changes.append([
                .text(DocumentWorld.app), partition, 1, number, .text(DocumentWorld.database), .text(collection), id,
                "insert", 1, number, body,
            ])
        }
        (self.documents, changes) = rows
        partitions = stride(from: 0, to: documents.count, by: batch).map { start in
            Set(documents[start..<min(start + batch, documents.count)].map(DocumentWorld.partition)).sorted()
        }
    }

    /// Copies them in transactions of a batch each, moving the heads.
    func copy(on client: PostgresClient) async throws {
        for (place, start) in stride(from: 0, to: documents.count, by: batch).enumerated() {
            let rows = start..<min(start + batch, documents.count)
            try await client.withTransaction { transaction in
                try await transaction.execute(
                    """
                    insert into partita.partitions as p (app, partition, epoch, head)
                    select '\(DocumentWorld.app)', w.partition, partita.current_epoch(), 20 from unnest($1::text[]) w(partition)
                    on conflict (app, partition) do update set epoch = excluded.epoch, head = p.head + 20
                    """, [.textArray(partitions[place])])
                try await transaction.copy(
                    into: DocumentWorld.table(collection),
                    columns: [
                        "_id", "partition", "epoch", "revision", "incarnation_epoch", "incarnation", "clocks", "body",
                        "document",
                    ]
                ) { writer in for row in documents[rows] { try await writer.write(row) } }
                try await transaction.copy(
                    into: "partita.changes",
                    columns: [
                        "app", "partition", "epoch", "revision", "database", "collection", "_id", "operation",
                        "incarnation_epoch", "incarnation", "after",
                    ]
                ) { writer in for row in changes[rows] { try await writer.write(row) } }
            }
        }
    }
}
