import Auth
import DocumentModel
import DocumentStore

/// `partita index list|create|drop`.
enum IndexCommands {
    private static let options: [Command.Option] =
        [
            Command.appOption,
            .init(
                "database", value: "NAME",
                "the database (default: that of DATABASE.COLLECTION, or the app's synced one)"),
        ] + AdminSession.options

    static let list = Command(
        name: "index list", summary: "Show a collection's indexes", parameters: ["COLLECTION"], options: options
    ) { arguments in
        for index in try await run(.listIndexes, arguments)["indexes"]?.arrayValue ?? [] {
            Output.line(ExtendedJSON.print(index, mode: .relaxed))
        }
    }

    static let create = Command(
        name: "index create", summary: "Create an index, such as '{\"key\": {\"author\": 1}, \"unique\": true}'",
        parameters: ["COLLECTION", "SPECIFICATION"], options: options
    ) { arguments in
        let specification: Document
        do {
            specification = try ExtendedJSON.parseDocument(try arguments.required("SPECIFICATION"), limits: .input)
        } catch let error as ExtendedJSONError {
            throw UsageError("the specification is no JSON: \(error)")
        }
        let made = try await run(.createIndex, arguments, specification)
        // What isn't valid was refused.
        if let note = try? IndexModel(specification).note { Progress.line("warning: \(note)") }
        Output.line(made["index"]?.stringValue ?? "")
    }

    static let drop = Command(
        name: "index drop", summary: "Drop an index by its name, or all with *", parameters: ["COLLECTION", "NAME"],
        options: options
    ) { arguments in _ = try await run(.dropIndex, arguments) }

    /// The collection, and its database if that is named: by `--database`, or as other commands do, by `DATABASE.COLLECTION`.
    private static func place(_ arguments: Arguments) throws -> (database: String?, collection: String) {
        let name = try arguments.required("COLLECTION")
        if let database = arguments.value("database") { return (database, name) }
        let parts = name.split(separator: ".", maxSplits: 1).map(String.init)
        return parts.count == 2 ? (parts[0], parts[1]) : (nil, name)
    }

    private static func run(
        _ action: AdminAction, _ arguments: Arguments, _ specification: Document? = nil
    ) async throws -> Document {
        let (database, collection) = try place(arguments)
        let query: KeyValuePairs<String, String?> = ["collection": collection, "database": database]
        let index = action == .dropIndex ? try arguments.required("NAME") : ""
        return try await AdminSession.run(arguments) { session in
            try await session.document(
                AdminCall(
                    action, ["app": try await session.app(arguments.app), "index": index], query: query,
                    body: specification.map { Array(ExtendedJSON.print(.document($0)).utf8) }))
        }
    }
}
