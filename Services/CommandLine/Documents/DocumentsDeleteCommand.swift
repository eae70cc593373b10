import DocumentModel

/// `partita documents delete`.
enum DocumentsDeleteCommand {
    static let command = Command(
        name: "documents delete", summary: "Delete the first document that matches",
        parameters: [AppDocuments.namespaceParameter, "FILTER"],
        options: [.init("many", "delete all that match"), AppDocuments.hintOption] + AppDocuments.options
    ) { arguments in
        let filter = try AppDocuments.document(try arguments.required("FILTER"), "FILTER")
        let action = arguments.has("many") ? "deleteMany" : "deleteOne"
        var call: Document = ["filter": .document(filter)]
        call["hint"] = try AppDocuments.hint(of: arguments)
        try await AppDocuments.with(arguments) { [call] documents in
            AppDocuments.show(try await documents.call(action, call))
        }
    }
}
