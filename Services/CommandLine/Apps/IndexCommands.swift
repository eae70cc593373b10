import DocumentModel
import DocumentStore

/// `partita index list|create|drop`.
enum IndexCommands {
    private static let options: [Command.Option] = [
        Command.appOption,
        .init("database", value: "NAME", "the database (default: the app's synced one)"), LocalConfiguration.option,
    ]

    static let list = Command(
        name: "index list", summary: "Show a collection's indexes", parameters: ["COLLECTION"], options: options
    ) { arguments in
        try await run(arguments) { collection in
            for index in try await collection.listIndexes() {
                Output.line(ExtendedJSON.print(.document(index), mode: .relaxed))
            }
        }
    }

    static let create = Command(
        name: "index create", summary: "Create an index, such as '{\"key\": {\"author\": 1}, \"unique\": true}'",
        parameters: ["COLLECTION", "SPECIFICATION"], options: options
    ) { arguments in
        let model: IndexModel
        do {
            model = try IndexModel(
                ExtendedJSON.parseDocument(try arguments.required("SPECIFICATION"), limits: .input))
        } catch let error as ExtendedJSONError {
            throw UsageError("the specification is no JSON: \(error)")
        }
        try await run(arguments) { Output.line(try await $0.createIndex(model)) }
    }

    static let drop = Command(
        name: "index drop", summary: "Drop an index by its name, or all with *", parameters: ["COLLECTION", "NAME"],
        options: options
    ) { arguments in
        let name = try arguments.required("NAME")
        try await run(arguments) { try await $0.dropIndex(name) }
    }

    private static func run(
        _ arguments: Arguments, _ body: @Sendable @escaping (DocumentCollection) async throws -> Void
    ) async throws {
        let name = try arguments.required("COLLECTION")
        let given = arguments.value("database")
        try await Tool.run(try LocalConfiguration(arguments: arguments)) { tool in
            let (store, app) = try await tool.store(of: arguments.app)
            guard let database = given ?? app.definition.sync?.database else {
                throw UsageError("the app syncs no database: --database names one")
            }
            try await body(store.collection(name, database: database, app: app.id))
        }
    }
}
