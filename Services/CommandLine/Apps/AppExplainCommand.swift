import Auth
import DocumentModel

/// `partita app explain`.
enum AppExplainCommand {
    static let command = Command(
        name: "app explain",
        summary: "Say why a user may or may not open a partition: the rules with what they see, the grant, the devices",
        options: [
            Command.appOption, .init("user", value: "USER", "the user's id or e-mail address; required"),
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
            let app = try await session.app(arguments.app)
            // A deleted user has only an id.
            let id =
                user.contains("@")
                ? try await session.document(AdminCall(.showUser, ["app": app, "user": user]))["id"]?.stringValue : user
            return try await session.document(
                AdminCall(
                    .explain, ["app": app],
                    query: ["user": id, "partition": partition, "document": arguments.value("document")]))
        }
        if arguments.has("json") {
            Output.line(ExtendedJSON.print(explanation["steps"] ?? .null, mode: .relaxed))
        } else {
            for line in explanation.texts("lines") { Output.line(Output.shown(line)) }
        }
    }
}
