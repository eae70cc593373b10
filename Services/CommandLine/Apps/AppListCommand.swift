import AppRegistry
import DocumentModel

/// `partita app list`.
enum AppListCommand {
    static let command = Command(
        name: "app list", summary: "Show the deployed apps", options: [Output.option, LocalConfiguration.option]
    ) { arguments in
        try await Tool.run(try LocalConfiguration(arguments: arguments)) { tool in
            for (key, version) in try await tool.registry.versions().sorted(by: { $0.key < $1.key }) {
                let id = key.text
                guard let app = try await tool.registry.load(id)?.definition else { continue }
                Output.row(
                    [
                        "app": .string(id), "version": .int64(version),
                        "collections": .int64(Int64(app.collections.count)),
                        "functions": .int64(Int64(app.functions.count)), "triggers": .int64(Int64(app.triggers.count)),
                    ], isJSON: arguments.has("json"),
                    "\(id)  version \(version)  \(app.collections.count) collections, \(app.functions.count) functions, \(app.triggers.count) triggers"
                )
            }
        }
    }
}
