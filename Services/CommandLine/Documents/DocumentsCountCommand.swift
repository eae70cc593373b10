import DocumentModel

/// `partita documents count`.
enum DocumentsCountCommand {
    static let command = Command(
        name: "documents count", summary: "Print how many documents match",
        parameters: [AppDocuments.namespaceParameter, "FILTER?"], options: AppDocuments.options
    ) { arguments in
        let filter = try AppDocuments.document(arguments.parameter("FILTER"), "FILTER")
        try await AppDocuments.with(arguments) { documents in
            print(try await documents.call("countDocuments", ["filter": .document(filter)]).int64Value ?? 0)
        }
    }
}
