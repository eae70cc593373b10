import AppDeployment
import DocumentModel

/// `partita app explain`.
enum AppExplainCommand {
    static let command = Command(
        name: "app explain",
        summary: "Say why a user may or may not open a partition: the rules with what they see, the grant, the devices",
        options: [
            Command.appOption, .init("user", value: "ID", "the user's id; required"),
            .init("partition", value: "VALUE", "the partition's value; required"),
            .init("document", value: "ID", "also say where the document with this _id is"),
            Output.option, LocalConfiguration.option,
        ]
    ) { arguments in
        let (user, partition) = (try arguments.requiredValue("user"), try arguments.requiredValue("partition"))
        let document = arguments.value("document")
        let explanation = try await Tool.run(try LocalConfiguration(arguments: arguments)) { tool in
            try await tool.deployments.explain(
                try await tool.app(arguments.app).id, user: user, partition: Value.keyText(given: partition),
                document: document.map(Value.keyText(given:)))
        }
        if arguments.has("json") {
            Output.line(ExtendedJSON.print(.document(explanation.document), mode: .relaxed))
        } else {
            for line in explanation.lines { Output.line(Output.shown(line)) }
        }
    }
}

extension Value {
    /// The key text of a value that a user has given: one that isn't in the format of key texts is a string, as most keys are.
    static func keyText(given text: String) -> String { Value(keyText: text) == nil ? "s:" + text : text }
}
