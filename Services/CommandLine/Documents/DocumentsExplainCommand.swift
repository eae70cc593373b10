import DocumentModel
import DocumentStore

/// `partita documents explain`.
enum DocumentsExplainCommand {
    static let command = Command(
        name: "documents explain",
        summary: "Show how a find is carried out: statements, indexes, plans, and what is left to do",
        parameters: [AppDocuments.namespaceParameter, "FILTER?"], options: DocumentsFindCommand.findOptions
    ) { arguments in
        let filter = try AppDocuments.document(arguments.parameter("FILTER"), "FILTER")
        let options = try DocumentsFindCommand.options(of: arguments)
        try await AppDocuments.with(arguments) { documents in
            AppDocuments.show(.document(try await documents.collection.explain(filter, options: options)))
        }
    }
}
