import DocumentModel
import DocumentStore

/// `partita documents aggregate`.
enum DocumentsAggregateCommand {
    static let command = Command(
        name: "documents aggregate",
        summary: "Run an aggregation pipeline, and print its documents, one per line, as they are found",
        parameters: [AppDocuments.namespaceParameter, "PIPELINE"],
        options: [AppDocuments.hintOption] + AppDocuments.options
    ) { arguments in
        let stages = try AppDocuments.stages(try arguments.required("PIPELINE"), "PIPELINE")
        let options = AggregateOptions(hint: try AppDocuments.hint(of: arguments))
        try await AppDocuments.with(arguments) { documents in
            try await documents.collection.forEachResult(of: stages, options: options) { document in
                AppDocuments.show(.document(document))
                return true
            }
        }
    }
}
