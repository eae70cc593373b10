import DocumentModel
import DocumentStore

/// `partita documents explain`.
enum DocumentsExplainCommand {
    static let command = Command(
        name: "documents explain", summary: "Show which part of a filter Postgres evaluates, and how",
        parameters: [AppDocuments.namespaceParameter, "FILTER?"], options: AppDocuments.options
    ) { arguments in
        let filter = try AppDocuments.document(arguments.parameter("FILTER"), "FILTER")
        try await AppDocuments.with(arguments) { documents in
            AppDocuments.show(.document(try await documents.collection.explain(filter)))
        }
    }
}
