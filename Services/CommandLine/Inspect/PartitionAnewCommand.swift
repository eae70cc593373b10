import AppDeployment
import DocumentModel
import DocumentStore

/// `partita partition serve-anew`.
enum PartitionAnewCommand {
    static let command = Command(
        name: "partition serve-anew",
        summary:
            "Make every device download a partition, or all of an app, again from the beginning; pending writes stay",
        parameters: ["VALUE?"],
        options: [Command.appOption, LocalConfiguration.option]
    ) { arguments in
        let text = arguments.parameter("VALUE").map(Value.keyText(given:))
        try await Tool.run(try LocalConfiguration(arguments: arguments)) { tool in
            let documents = try await tool.store(of: arguments.app)
            let count = try await documents.store.serveAnew(
                app: documents.app.id, partition: text.map { Partition(text: $0) })
            Output.line("\(count) partitions are served from the beginning; connected devices connect again")
        }
    }
}
