import Auth
import DocumentModel

/// `partita app explain`.
enum AppExplainCommand {
    static let command = Command(
        name: "app explain",
        summary: "Say why a user may or may not open a partition: the rules with what they see, the grant, the devices",
        options: [
            Command.appOption, .init("user", value: "ID", "the user's id; required"),
            .init(
                "partition", value: "VALUE",
                "the partition's value: a string, or as `partitions` shows it (o:… is an ObjectId, n: the null partition); required"
            ),
            .init(
                "document", value: "ID",
                "also say where the document with this _id is: a string, the digits of an ObjectId, or Extended JSON"),
            Output.option,
        ] + AdminSession.options
    ) { arguments in
        let (user, partition) = (try arguments.requiredValue("user"), try arguments.requiredValue("partition"))
        let explanation = try await AdminSession.run(arguments) { session in
            try await session.document(
                AdminCall(
                    .explain, ["app": try await session.app(arguments.app)],
                    query: ["user": user, "partition": partition, "document": arguments.value("document")]))
        }
        if arguments.has("json") {
            Output.line(ExtendedJSON.print(explanation["steps"] ?? .null, mode: .relaxed))
        } else {
            for line in explanation.texts("lines") { Output.line(Output.shown(line)) }
        }
    }
}
