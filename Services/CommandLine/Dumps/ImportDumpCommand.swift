import DocumentModel
import DocumentStore
import Dumps

/// `partita import-dump DIRECTORY`.
enum ImportDumpCommand {
    static let command = Command(
        name: "import-dump", summary: "Import what mongodump wrote; run again, an interrupted import continues",
        parameters: ["DIRECTORY"],
        options: [
            Command.appOption,
            .init("database", value: "NAME", "only this database; or its name, if DIRECTORY is one database's folder"),
            .init("collection", value: "NAME", "only this collection"),
            .init("drop", "delete the collections' documents first"),
            .init("triggers", "run database triggers for the documents"),
            .init("bypass-schema", "accept documents that the app's schema forbids"),
            .init("again", "import files again that were already imported"),
            .init("rejected", value: "DIRECTORY", "where to list documents that can't be imported (default: .)"),
            LocalConfiguration.option,
        ]
    ) { arguments in
        let contents = try DumpFolder.contents(
            of: try arguments.required("DIRECTORY"), database: arguments.value("database"),
            collection: arguments.value("collection"))
        for sentence in contents.overlooked { Progress.line(sentence) }
        let dumped = contents.collections
        var options = DumpImport.Options()
        options.drops = arguments.has("drop")
        options.firesTriggers = arguments.has("triggers")
        options.bypassesSchema = arguments.has("bypass-schema")
        options.again = arguments.has("again")
        options.rejections = arguments.value("rejected") ?? "."
        let chosen = options
        try await Tool.run(try LocalConfiguration(arguments: arguments)) { tool in
            let store = try await tool.store(of: arguments.app)
            try await DumpMigrations.migrations.apply(on: tool.postgres)
            try await run(
                dumped, with: DumpImport(store: store.store, client: tool.postgres, app: store.app.id, options: chosen))
        }
    }

    private static func run(_ dumped: [DumpedCollection], with dumpImport: DumpImport) async throws {
        var failed: [String] = []
        for collection in dumped {
            let name = "\(collection.namespace.database).\(collection.namespace.collection)"
            let progress = DumpProgress(name: name)
            do {
                let report = try await dumpImport.run(collection) { progress.show($0) }
                progress.finish(report)
                if !report.isComplete { failed.append(name) }
            } catch let error as DumpError {
                // The other collections are imported all the same.
                progress.end("\(name): \(error.message)")
                if error.code != .alreadyImported { failed.append(name) }
            }
        }
        if !failed.isEmpty { throw DumpFailure(collections: failed) }
    }
}

/// The import ran, but not everything could be imported.
private struct DumpFailure: Error, CustomStringConvertible {
    let collections: [String]
    var description: String { "not everything was imported of \(collections.joined(separator: ", "))" }
}
