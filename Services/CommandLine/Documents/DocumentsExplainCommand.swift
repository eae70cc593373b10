import DocumentModel
import DocumentStore

/// `partita documents explain`.
enum DocumentsExplainCommand {
    static let command = Command(
        name: "documents explain",
        summary: "Show how a find or pipeline runs: statements, indexes, plans, and what runs outside Postgres",
        parameters: [AppDocuments.namespaceParameter, "FILTER?"],
        options: [.init("pipeline", value: "JSON", "explain an aggregation pipeline instead of a find")]
            + DocumentsFindCommand.findOptions
    ) { arguments in
        if let text = arguments.value("pipeline") {
            guard arguments.parameter("FILTER") == nil else { throw UsageError("a pipeline has its own $match") }
            let stages = try AppDocuments.stages(text, "--pipeline")
            let options = AggregateOptions(hint: try AppDocuments.hint(of: arguments))
            return try await AppDocuments.with(arguments) { documents in
                AppDocuments.show(
                    .document(try await documents.collection.explainAggregate(stages, options: options)))
            }
        }
        let filter = try AppDocuments.document(arguments.parameter("FILTER"), "FILTER")
        let options = try DocumentsFindCommand.options(of: arguments)
        try await AppDocuments.with(arguments) { documents in
            AppDocuments.show(.document(try await documents.collection.explain(filter, options: options)))
        }
    }
}
