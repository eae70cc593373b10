import DocumentModel

/// `partita documents count`.
enum DocumentsCountCommand {
    static let command = Command(
        name: "documents count", summary: "Print how many documents match",
        parameters: [AppDocuments.namespaceParameter, "FILTER?"],
        options: [AppDocuments.hintOption] + AppDocuments.options
    ) { arguments in
        var call: Document = ["filter": .document(try AppDocuments.document(arguments.parameter("FILTER"), "FILTER"))]
        call["hint"] = try AppDocuments.hint(of: arguments)
        try await AppDocuments.with(arguments) { [call] documents in
            Output.line("\(try await documents.call("countDocuments", call).int64Value ?? 0)")
        }
    }
}
