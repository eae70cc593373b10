import DocumentModel

/// `partita documents aggregate`.
enum DocumentsAggregateCommand {
    static let command = Command(
        name: "documents aggregate",
        summary: "Run an aggregation pipeline, and print its documents, one per line, as they are found",
        parameters: [AppDocuments.namespaceParameter, "PIPELINE"],
        options: [AppDocuments.hintOption] + AppDocuments.options
    ) { arguments in
        var call: Document = ["pipeline": try AppDocuments.stages(try arguments.required("PIPELINE"), "PIPELINE")]
        call["hint"] = try AppDocuments.hint(of: arguments)
        try await AppDocuments.with(arguments) { [call] documents in
            try await documents.forEach("aggregate", call) { AppDocuments.show(.document($0)) }
        }
    }
}
