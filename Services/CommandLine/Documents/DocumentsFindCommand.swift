import DocumentModel
import DocumentStore

/// `partita documents find`.
enum DocumentsFindCommand {
    static let command = Command(
        name: "documents find", summary: "Print the documents that match, one per line, as they are found",
        parameters: [AppDocuments.namespaceParameter, "FILTER?"],
        options: findOptions
    ) { arguments in
        let filter = try AppDocuments.document(arguments.parameter("FILTER"), "FILTER")
        let options = try options(of: arguments)
        try await AppDocuments.with(arguments) { documents in
            try await documents.collection.forEach(filter, options: options) { document in
                AppDocuments.show(.document(document))
                return true
            }
        }
    }

    static let findOptions: [Command.Option] =
        [
            .init("projection", value: "JSON", "which fields to print"),
            .init("sort", value: "JSON", "the order of the documents"),
            .init("skip", value: "COUNT", "how many to skip first"),
            .init("limit", value: "COUNT", "how many to print at most"),
            AppDocuments.hintOption,
        ] + AppDocuments.options

    static func options(of arguments: Arguments) throws -> FindOptions {
        FindOptions(
            sort: try arguments.value("sort").map { try AppDocuments.document($0, "--sort") },
            skip: try arguments.int("skip", in: 0...Int.max) ?? 0,
            limit: try arguments.int("limit", in: 1...Int.max),
            projection: try arguments.value("projection").map { try AppDocuments.document($0, "--projection") },
            hint: try AppDocuments.hint(of: arguments))
    }
}
