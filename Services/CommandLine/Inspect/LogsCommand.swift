import Auth
import DocumentModel

/// `partita logs`.
enum LogsCommand {
    static let command = Command(
        name: "logs", summary: "Show the console output of functions, and their failures",
        options: [
            Command.appOption, .init("last", value: "COUNT", "how many lines (default: 50)"), Output.option,
        ] + AdminSession.options
    ) { arguments in
        let count = try arguments.int("last", in: 1...100_000) ?? 50
        try await AdminSession.run(arguments) { session in
            let app = try await session.app(arguments.app)
            // The newest page is read first, and shown last.
            var pages: [[Document]] = []
            var rest = count
            var before: String?
            while rest > 0 {
                let limit = min(rest, Int(Administration.pageLimit))
                let answer = try await session.document(
                    AdminCall(.readLogs, ["app": app], query: ["before": before, "limit": "\(limit)"]))
                let lines = (answer["lines"]?.arrayValue ?? []).compactMap(\.documentValue)
                pages.append(lines)
                rest -= lines.count
                guard lines.count == limit, let moment = lines.first?["moment"]?.int64Value else { break }
                before = "\(moment)"
            }
            for line in pages.reversed().joined() { show(line, isJSON: arguments.has("json")) }
        }
    }

    private static func show(_ line: Document, isJSON: Bool) {
        func text(_ name: String) -> String { line[name]?.stringValue ?? "" }
        let trigger = text("trigger")
        var shown = line
        shown["moment"] = nil
        Output.row(
            shown, isJSON: isJSON,
            "\(text("at"))  \(text("level").padded(to: 5))  \(text("function"))\(trigger.isEmpty ? "" : " (\(trigger))")  \(text("message"))"
        )
    }
}
