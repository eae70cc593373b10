import DocumentModel

/// `partita documents delete`.
enum DocumentsDeleteCommand {
    static let command = Command(
        name: "documents delete", summary: "Delete the first document that matches",
        parameters: [AppDocuments.namespaceParameter, "FILTER"],
        options: [.init("many", "delete all that match")] + AppDocuments.options
    ) { arguments in
        let filter = try AppDocuments.document(try arguments.required("FILTER"), "FILTER")
        let action = arguments.has("many") ? "deleteMany" : "deleteOne"
        try await AppDocuments.with(arguments) { documents in
            AppDocuments.show(try await documents.call(action, ["filter": .document(filter)]))
        }
    }
}
