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
        let partition = arguments.parameter("VALUE").map { Partition(given: $0) }
        try await Tool.run(try LocalConfiguration(arguments: arguments)) { tool in
            let documents = try await tool.store(of: arguments.app)
            let count = try await documents.store.serveAnew(
                app: documents.app.id, partition: partition)
            Output.line("\(count) partitions are served from the beginning; connected devices connect again")
        }
    }
}
