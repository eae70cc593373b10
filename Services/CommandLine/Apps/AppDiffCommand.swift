import AppDeployment
import DocumentModel

/// `partita app diff DIRECTORY`.
enum AppDiffCommand {
    static let command = Command(
        name: "app diff",
        summary:
            "Compare an app with its deployed version: files, features, who gains and loses access, documents that break the schema",
        parameters: ["DIRECTORY"], options: AppSource.options + [Output.option, LocalConfiguration.option]
    ) { arguments in
        let files = try AppSource.files(try arguments.required("DIRECTORY"), arguments)
        let difference = try await Tool.run(try LocalConfiguration(arguments: arguments)) {
            try await $0.deployments.difference(files)
        }
        let isJSON = arguments.has("json")
        for part in difference.files + difference.features {
            Output.row(
                [
                    "feature": .string(part.feature), "name": .string(part.name), "change": .string(part.kind.rawValue),
                ], isJSON: isJSON, "\(part.kind.rawValue.padded(to: 8)) \(part.feature) \(part.name)")
        }
        if let access = difference.access {
            if isJSON {
                Output.row(row(access), isJSON: true, "")
            } else {
                for line in access.lines { Output.line(Output.shown(line)) }
            }
        }
        for line in difference.impact.lines {
            Output.row(["impact": .string(line)], isJSON: isJSON, line)
        }
        if difference.isEmpty, !isJSON {
            Output.line(difference.version.map { "nothing differs from version \($0)" } ?? "the app isn't deployed")
        }
    }

    private static func row(_ access: AccessDifference) -> Document {
        [
            "feature": "access", "pairs": .int64(Int64(access.pairs)), "evaluated": .int64(Int64(access.evaluated)),
            "failed": .int64(Int64(access.failed)), "gains": .int64(Int64(access.gains)),
            "losses": .int64(Int64(access.losses)),
            "examples": .array(
                access.examples.map {
                    [
                        "user": .string($0.user), "partition": .string($0.partition),
                        "before": .string($0.before.rawValue), "after": .string($0.after.rawValue),
                    ]
                }),
        ]
    }
}
