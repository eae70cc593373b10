import DocumentModel

/// `partita documents explain`.
enum DocumentsExplainCommand {
    static let command = Command(
        name: "documents explain",
        summary: "Show how a find or pipeline runs: statements, indexes, plans, and what runs outside Postgres",
        parameters: [AppDocuments.namespaceParameter, "FILTER?"],
        options: [.init("pipeline", value: "JSON", "explain an aggregation pipeline instead of a find")]
            + DocumentsFindCommand.findOptions
    ) { arguments in
        let call: Document
        if let text = arguments.value("pipeline") {
            guard arguments.parameter("FILTER") == nil else { throw UsageError("a pipeline has its own $match") }
            var explained: Document = ["pipeline": try AppDocuments.stages(text, "--pipeline")]
            explained["hint"] = try AppDocuments.hint(of: arguments)
            call = explained
        } else {
            call = try DocumentsFindCommand.call(of: arguments)
        }
        try await AppDocuments.with(arguments) { documents in
            AppDocuments.show(try await documents.call("explain", call))
        }
    }
}
