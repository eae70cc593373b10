import DocumentModel
import Functions

/// `partita documents call`.
enum DocumentsCallCommand {
    static let command = Command(
        name: "documents call",
        summary: "Call any method of a collection as functions do, with a document of arguments",
        parameters: [AppDocuments.namespaceParameter, "METHOD", "ARGUMENTS?"], options: AppDocuments.options
    ) { arguments in
        let method = try arguments.required("METHOD")
        guard DocumentCall.actions.contains(method) else {
            throw UsageError(
                "no method \(method)\(Suggestion.text(for: method, among: DocumentCall.actions.sorted()))")
        }
        let call = try AppDocuments.document(arguments.parameter("ARGUMENTS"), "ARGUMENTS")
        try await AppDocuments.with(arguments) { documents in
            AppDocuments.show(try await documents.call(method, call))
        }
    }
}
