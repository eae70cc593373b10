import AppDefinition
import AppDeployment
import DocumentModel

/// `partita app deploy DIRECTORY`.
enum AppDeployCommand {
    static let command = Command(
        name: "app deploy",
        summary:
            "Check an app (a folder, a zip or tar archive, or - for one on standard input), and make it the app's current version",
        parameters: ["DIRECTORY"],
        options: AppSource.options + deploymentOptions + [
            Command.Option(
                "dry-run", "change nothing; say what the deployment would do to stored documents and to devices")
        ] + AdminSession.options
    ) { arguments in
        var options = try options(of: arguments)
        options.isDryRun = arguments.has("dry-run")
        let chosen = options
        let files = try AppSource.files(try arguments.required("DIRECTORY"), arguments)
        let result = try await AdminSession.run(arguments) { try await $0.deploy(files, chosen) }
        show(result)
        if let refusal = result["refusal"] {
            throw ToolError(
                "the deployment would be refused: \(refusal["error_code"]?.stringValue ?? ""): \(refusal["error"]?.stringValue ?? "")"
            )
        }
    }

    /// The options of each command that deploys.
    static let deploymentOptions = [
        Command.Option("message", value: "TEXT", "what `partita app history` says about the version"),
        Command.Option(
            "repartition",
            "deploy even if documents leave partitions that devices have: unsent writes to them are lost"),
        Command.Option(
            "allow-breaking", "deploy even if stored documents violate the new schema: changes of them are rejected"),
        Command.Option(
            "wait", value: "SECONDS",
            "how long to wait for another deployment of the app (default: 60), and for services to have the version (10)"
        ),
    ]

    static func options(of arguments: Arguments) throws -> AppDeployments.Options {
        var options = AppDeployments.Options()
        options.message = arguments.value("message")
        options.mayRepartition = arguments.has("repartition")
        options.mayBreakSchema = arguments.has("allow-breaking")
        options.waiting = { Progress.line($0 + "; waiting") }
        if let seconds = try arguments.int("wait", in: 0...3600) {
            options.lockLimit = .seconds(seconds)
            options.serviceLimit = .seconds(seconds)
        }
        return options
    }

    /// Prints what a deployment returns.
    static func show(_ result: Document) {
        for warning in result.texts("warnings") { Progress.line(warning) }
        for line in result.texts("lines") { Output.line(Output.shown(line)) }
    }
}

extension Document {
    /// The texts of a list.
    func texts(_ name: String) -> [String] { (self[name]?.arrayValue ?? []).compactMap(\.stringValue) }
}
