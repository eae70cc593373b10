import AppDefinition
import AppDeployment
import DocumentModel

/// `partita app diff DIRECTORY`.
enum AppDiffCommand {
    static let command = Command(
        name: "app diff",
        summary:
            "Compare an app with its deployed version: files, features, who gains and loses access, documents that break the schema",
        parameters: ["DIRECTORY"], options: AppSource.options + [Output.option] + AdminSession.options
    ) { arguments in
        let files = try AppSource.files(try arguments.required("DIRECTORY"), arguments)
        let difference = try await AdminSession.run(arguments) { try await $0.difference(files) }
        let isJSON = arguments.has("json")
        let parts = (difference["parts"]?.arrayValue ?? []).compactMap(\.documentValue)
        for part in parts {
            func text(_ name: String) -> String { part[name]?.stringValue ?? "" }
            Output.row(
                part, isJSON: isJSON, "\(text("change").padded(to: 8)) \(text("feature")) \(text("name"))")
        }
        for (name, feature) in [("access", "access"), ("dataAccess", "data access")] {
            guard let access = difference[name]?.documentValue else { continue }
            if isJSON {
                let row = Document(
                    fields: [.init("feature", .string(feature))] + access.fields.filter { $0.key != "lines" })
                Output.row(row, isJSON: true, "")
            } else {
                for line in access.texts("lines") { Output.line(Output.shown(line)) }
            }
        }
        for line in difference.texts("impact") { Output.row(["impact": .string(line)], isJSON: isJSON, line) }
        if parts.isEmpty, !isJSON {
            let version = difference["version"]?.int64Value
            Output.line(version.map { "nothing differs from version \($0)" } ?? "the app isn't deployed")
        }
    }
}
