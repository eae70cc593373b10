import DocumentModel
import DocumentStore
import SyncEngine

/// `partita check`.
enum CheckCommand {
    static let command = Command(
        name: "check",
        summary: "Check that documents, partitions, revisions and history agree; may run beside a working system",
        options: [Command.appOption, Output.option, LocalConfiguration.option]
    ) { arguments in
        let isJSON = arguments.has("json")
        let count = try await Tool.run(try LocalConfiguration(arguments: arguments)) { tool in
            let app = try await tool.app(arguments.app)
            let findings = try await StoreCheck(AppStorage(app.definition), on: tool.postgres).findings()
            for finding in findings {
                Output.row(
                    [
                        "code": .string(finding.code.rawValue), "count": .int64(Int64(finding.count)),
                        "example": .string(finding.example), "meaning": .string(finding.meaning),
                        "remedy": .string(finding.remedy),
                    ], isJSON: isJSON,
                    """
                    \(finding.code.rawValue) (\(finding.count)): \(finding.meaning); for example \(finding.example)
                    remedy: \(finding.remedy)
                    """)
            }
            if findings.isEmpty, !isJSON { Output.line("the documents of \(app.id) are consistent") }
            return findings.count
        }
        if count > 0 { throw ToolError("\(count) findings") }
    }
}
