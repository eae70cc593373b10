import Auth
import DocumentModel

/// `partita check`.
enum CheckCommand {
    static let command = Command(
        name: "check",
        summary: "Check that documents, partitions, revisions and history agree; may run beside a working system",
        options: [Command.appOption, Output.option] + AdminSession.options
    ) { arguments in
        let isJSON = arguments.has("json")
        let count = try await AdminSession.run(arguments) { session in
            let app = try await session.app(arguments.app)
            let answer = try await session.document(AdminCall(.check, ["app": app]))
            let findings = (answer["findings"]?.arrayValue ?? []).compactMap(\.documentValue)
            for finding in findings {
                func text(_ name: String) -> String { finding[name]?.stringValue ?? "" }
                Output.row(
                    finding, isJSON: isJSON,
                    """
                    \(text("code")) (\(finding["count"]?.int64Value ?? 0)): \(text("meaning")); for example \(text("example"))
                    remedy: \(text("remedy"))
                    """)
            }
            if findings.isEmpty, !isJSON { Output.line("the documents of \(app) are consistent") }
            return findings.count
        }
        if count > 0 { throw ToolError("\(count) findings") }
    }
}
