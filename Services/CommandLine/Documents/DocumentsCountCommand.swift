import DocumentModel
import DocumentStore

/// `partita documents count`.
enum DocumentsCountCommand {
    static let command = Command(
        name: "documents count", summary: "Print how many documents match",
        parameters: [AppDocuments.namespaceParameter, "FILTER?"],
        options: [AppDocuments.hintOption] + AppDocuments.options
    ) { arguments in
        let filter = try AppDocuments.document(arguments.parameter("FILTER"), "FILTER")
        let options = FindOptions(hint: try AppDocuments.hint(of: arguments))
        try await AppDocuments.with(arguments) { documents in
            Output.line("\(try await documents.collection.countDocuments(filter, options: options))")
        }
    }
}
