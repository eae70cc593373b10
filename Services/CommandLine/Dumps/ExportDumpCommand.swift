import Dumps

/// `partita export-dump DIRECTORY`.
enum ExportDumpCommand {
    static let command = Command(
        name: "export-dump", summary: "Export an app's documents as mongodump would, for mongorestore or import-dump",
        parameters: ["DIRECTORY"],
        options: [
            Command.appOption,
            .init("database", value: "NAME", "only this database"),
            .init("collection", value: "NAME", "only this collection"),
            LocalConfiguration.option,
        ]
    ) { arguments in
        let directory = try arguments.required("DIRECTORY")
        try await Tool.run(try LocalConfiguration(arguments: arguments)) { tool in
            let store = try await tool.store(of: arguments.app)
            try await DumpExport(store: store.store, app: store.app.id).run(
                to: directory, database: arguments.value("database"), collection: arguments.value("collection")
            ) { status in
                if status.isComplete {
                    Progress.line(
                        "\(status.namespace.database).\(status.namespace.collection)  \(status.documents) documents")
                }
            }
        }
    }
}
