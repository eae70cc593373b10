import Auth
import DocumentModel

/// `partita partition show VALUE`.
enum PartitionShowCommand {
    static let command = Command(
        name: "partition show", summary: "Show a partition: head, documents, grants, devices that upload",
        parameters: ["VALUE"], options: [Command.appOption, Output.option] + AdminSession.options
    ) { arguments in
        let partition = try arguments.required("VALUE")
        try await AdminSession.run(arguments) { session in
            let state = try await session.document(
                AdminCall(
                    .showPartition, ["app": try await session.app(arguments.app)], query: ["partition": partition]))
            if arguments.has("json") {
                Output.line(ExtendedJSON.print(.document(state), mode: .relaxed))
            } else {
                show(state)
            }
        }
    }

    private static func show(_ state: Document) {
        func text(_ value: Value?) -> String { value?.stringValue ?? value?.int64Value.map { "\($0)" } ?? "" }
        func each(_ name: String, _ line: (Value) -> String) {
            for item in state[name]?.arrayValue ?? [] { Output.line(line(item)) }
        }
        let partition = text(state["partition"])
        Output.line(
            state["head"] == .null
                ? "\(partition) has no documents and never had one"
                : "\(partition)  head \(text(state["head"]))  published \(text(state["published"]))")
        each("collections") { "  \(text($0["collection"]))  \(text($0["documents"])) documents" }
        each("grants") {
            "  grant  \(text($0["user"]))  \(text($0["access"]))  \(text($0["version"]))  \(text($0["reason"]))"
        }
        each("devices") {
            let schema = $0["schemaVersion"] == .null ? "" : "  schema version \(text($0["schemaVersion"]))"
            let last = "last version \(text($0["lastVersion"]))\(schema)"
            return "  device \(text($0["device"]))  of \(text($0["user"]))  \(last)"
        }
        if state["isComplete"] == false { Output.line("  … and more grants or devices") }
    }
}
