import Auth
import DocumentModel

/// `partita audit`.
enum AuditCommand {
    private static let page = 500

    static let command = Command(
        name: "audit", summary: "Show the audit log of the administration API, the oldest record first",
        options: [
            .init("app", value: "ID", "only calls about this app"),
            .init("since", value: "TIME", "only calls since then, such as 2026-01-31T12:00:00Z"), Output.option,
        ] + AdminSession.options
    ) { arguments in
        try await AdminSession.run(arguments) { session in
            var last: Int64 = 0
            while true {
                let records =
                    try await session.document(
                        AdminCall(
                            .readAudit,
                            query: [
                                "app": arguments.app, "since": arguments.value("since"), "after": "\(last)",
                                "limit": "\(page)",
                            ]))["records"]?.arrayValue ?? []
                for record in records.compactMap(\.documentValue) {
                    Output.row(record, isJSON: arguments.has("json"), text(record))
                    last = record["number"]?.int64Value ?? last
                }
                if records.count < page { return }
            }
        }
    }

    private static func text(_ record: Document) -> String {
        func text(_ name: String) -> String { record[name]?.stringValue ?? "" }
        let parts = [
            ISODate.text(record["time"]?.dateValue ?? 0), text("tokenName"), text("role"), text("app"), text("action"),
            text("target"), text("outcome"), text("address"),
        ]
        return parts.filter { !$0.isEmpty }.joined(separator: "  ")
    }
}
