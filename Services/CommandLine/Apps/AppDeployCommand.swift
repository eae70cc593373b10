import AppDefinition
import AppDeployment
import DocumentModel
import SyncEngine

/// `partita app deploy DIRECTORY`.
enum AppDeployCommand {
    static let command = Command(
        name: "app deploy",
        summary:
            "Check an app (a folder, a zip or tar archive, or - for one on standard input), and make it the app's current version",
        parameters: ["DIRECTORY"],
        options: AppSource.options + deploymentOptions + [
            Command.Option(
                "dry-run", "change nothing; say what the deployment would do to stored documents and to devices"),
            LocalConfiguration.option,
        ]
    ) { arguments in
        var options = try options(of: arguments)
        options.isDryRun = arguments.has("dry-run")
        let chosen = options
        let files = try AppSource.files(try arguments.required("DIRECTORY"), arguments)
        let result = try await Tool.run(try LocalConfiguration(arguments: arguments)) {
            try await $0.deployments.deploy(files, chosen)
        }
        show(result, isDryRun: chosen.isDryRun)
        if let refusal = result.refusal { throw ToolError("the deployment would be refused: \(refusal)") }
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

    /// A line for each collection that says whether it is synced, and if not, why; no lines for an app that doesn't
    /// sync.
    static func syncReport(of definition: AppDefinition) -> [String] {
        guard definition.sync != nil else { return [] }
        return definition.collections.map { "\($0.database).\($0.name) is \(definition.syncVerdict(of: $0))" }
    }

    static func show(_ result: AppDeployments.Outcome, isDryRun: Bool = false) {
        for warning in result.warnings { Progress.line(warning) }
        for line in result.impact.lines { Output.line(Output.shown(line)) }
        if isDryRun {
            return Output.line(
                "\(result.definition.id): nothing was changed; "
                    + (result.impact.lines.isEmpty ? "no stored document is concerned" : "see above")
                    + (result.app.map { "; version \($0.version) is deployed" } ?? "; it isn't deployed"))
        }
        for line in result.report + syncReport(of: result.definition) { Output.line(line) }
        let version = result.app.map { "\($0.version)" } ?? "?"
        let services = result.serviceCount == 1 ? "1 service has it" : "\(result.serviceCount) services have it"
        Output.line(
            result.isNew
                ? "\(result.definition.id) version \(version) is deployed"
                    + (result.serviceCount > 0 ? "; \(services)" : "")
                : "\(result.definition.id) is unchanged, version \(version)")
    }
}
