import DocumentModel

/// `partita documents aggregate`.
enum DocumentsAggregateCommand {
    static let command = Command(
        name: "documents aggregate", summary: "Run an aggregation pipeline, and print its documents, one per line",
        parameters: [AppDocuments.namespaceParameter, "PIPELINE"], options: AppDocuments.options
    ) { arguments in
        let pipeline = try AppDocuments.value(try arguments.required("PIPELINE"), "PIPELINE")
        try await AppDocuments.with(arguments) { documents in
            for document in try await documents.call("aggregate", ["pipeline": pipeline]).arrayValue ?? [] {
                AppDocuments.show(document)
            }
        }
    }
}
