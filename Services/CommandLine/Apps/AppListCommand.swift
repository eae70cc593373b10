import Auth
import DocumentModel

/// `partita app list`.
enum AppListCommand {
    static let command = Command(
        name: "app list", summary: "Show the deployed apps", options: [Output.option] + AdminSession.options
    ) { arguments in
        try await AdminSession.run(arguments) { session in
            for app in try await session.document(AdminCall(.listApps))["apps"]?.arrayValue ?? [] {
                guard let row = app.documentValue else { continue }
                func count(_ name: String) -> Int64 { row[name]?.int64Value ?? 0 }
                Output.row(
                    row, isJSON: arguments.has("json"),
                    "\(row["app"]?.stringValue ?? "")  version \(count("version"))  \(count("collections")) collections, \(count("functions")) functions, \(count("triggers")) triggers"
                )
            }
        }
    }
}
