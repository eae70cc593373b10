import DocumentModel

/// `partita documents update`.
enum DocumentsUpdateCommand {
    static let command = Command(
        name: "documents update",
        summary: "Change the first document that matches, by operators, by a pipeline, or by a whole document",
        parameters: [AppDocuments.namespaceParameter, "FILTER", "UPDATE"],
        options: [
            .init("many", "change all that match"), .init("upsert", "insert one where none matches"),
            .init("array-filters", value: "JSON", "what $[name] stands for"), AppDocuments.hintOption,
        ] + AppDocuments.options
    ) { arguments in
        let update = try AppDocuments.value(try arguments.required("UPDATE"), "UPDATE")
        var call: Document = [
            "filter": .document(try AppDocuments.document(try arguments.required("FILTER"), "FILTER")),
            "upsert": .bool(arguments.has("upsert")),
        ]
        call["arrayFilters"] = try arguments.value("array-filters").map {
            try AppDocuments.value($0, "--array-filters")
        }
        call["hint"] = try AppDocuments.hint(of: arguments)
        let isReplacement = update.documentValue.map { !($0.fields.first?.key.hasPrefix("$") ?? false) } ?? false
        guard !isReplacement || !arguments.has("many") else {
            throw UsageError("a whole document replaces one document; --many needs operators")
        }
        call[isReplacement ? "replacement" : "update"] = update
        let action = isReplacement ? "replaceOne" : arguments.has("many") ? "updateMany" : "updateOne"
        try await AppDocuments.with(arguments) { [call] documents in
            AppDocuments.show(try await documents.call(action, call))
        }
    }
}
