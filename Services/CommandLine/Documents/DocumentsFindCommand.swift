import DocumentModel

/// `partita documents find`.
enum DocumentsFindCommand {
    static let command = Command(
        name: "documents find", summary: "Print the documents that match, one per line, as they are found",
        parameters: [AppDocuments.namespaceParameter, "FILTER?"],
        options: findOptions
    ) { arguments in
        let call = try call(of: arguments)
        try await AppDocuments.with(arguments) { documents in
            try await documents.forEach("find", call) { AppDocuments.show(.document($0)) }
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

    /// The arguments of a `find`.
    static func call(of arguments: Arguments) throws -> Document {
        var call: Document = ["filter": .document(try AppDocuments.document(arguments.parameter("FILTER"), "FILTER"))]
        for name in ["sort", "projection"] {
            call[name] = try arguments.value(name).map { .document(try AppDocuments.document($0, "--\(name)")) }
        }
        call["skip"] = try arguments.int("skip", in: 0...Int.max).map { .int64(Int64($0)) }
        call["limit"] = try arguments.int("limit", in: 1...Int.max).map { .int64(Int64($0)) }
        call["hint"] = try AppDocuments.hint(of: arguments)
        return call
    }
}
