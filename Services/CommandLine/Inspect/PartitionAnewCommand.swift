import Auth
import DocumentModel

/// `partita partition serve-anew`.
enum PartitionAnewCommand {
    static let command = Command(
        name: "partition serve-anew",
        summary:
            "Make every device download a partition, or all of an app, again from the beginning; pending writes stay",
        parameters: ["VALUE?"], options: [Command.appOption] + AdminSession.options
    ) { arguments in
        let partition = arguments.parameter("VALUE")
        try await AdminSession.run(arguments) { session in
            let answer = try await session.document(
                AdminCall(
                    .serveAnew, ["app": try await session.app(arguments.app)],
                    query: ["partition": partition, "all": partition == nil ? "true" : nil]))
            let count = answer["partitions"]?.int64Value ?? 0
            Output.line("\(count) partitions are served from the beginning; connected devices connect again")
        }
    }
}
