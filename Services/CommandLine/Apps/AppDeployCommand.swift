import AppDefinition
import AppRegistry
import DocumentModel
import DocumentStore
import EventStream
import EventTopics
import Kafka
import ServiceEngines
import SyncEngine

/// `partita app deploy DIRECTORY`.
enum AppDeployCommand {
    static let command = Command(
        name: "app deploy",
        summary:
            "Check an app (a folder, a zip or tar archive, or - for one on standard input), and make it the app's current version",
        parameters: ["DIRECTORY"],
        options: AppSource.options + [
            Command.Option(
                "repartition",
                "deploy even if documents leave partitions that devices have: unsent writes to them are lost"),
            LocalConfiguration.option,
        ]
    ) { arguments in
        let result = try await deploy(
            try AppSource.files(try arguments.required("DIRECTORY"), arguments),
            configuration: try LocalConfiguration(arguments: arguments), mayRepartition: arguments.has("repartition"))
        for warning in result.warnings { Progress.line(warning) }
        for line in result.report + syncReport(of: result.app.definition) { Output.line(line) }
        Output.line(
            result.isNew
                ? "\(result.app.id) version \(result.app.version) is deployed"
                : "\(result.app.id) is unchanged, version \(result.app.version)")
    }

    /// A deployment, and what is to be said of it.
    struct Result: Sendable {
        let app: DeployedApp
        let isNew: Bool
        let warnings: [String]
        /// The lines of `AppReport`.
        let report: [String]
    }

    /// A line for each collection that says whether it is synced, and if not, why; no lines for an app that doesn't
    /// sync.
    static func syncReport(of definition: AppDefinition) -> [String] {
        guard definition.sync != nil else { return [] }
        return definition.collections.map { "\($0.database).\($0.name) is \(definition.syncVerdict(of: $0))" }
    }

    /// Deploys an app. Everything is checked first: an app with an error changes nothing.
    /// - Parameter mayRepartition: whether documents may leave the partitions in which devices have them.
    /// - Throws: `AppDefinitionError` that lists every problem with its file and position.
    static func deploy(
        _ files: AppFiles, configuration: LocalConfiguration, mayRepartition: Bool = false
    ) async throws -> Result {
        try await Tool.run(configuration) { tool in
            let inspection = try await AppCheck.inspect(files, on: tool.loops.next())
            guard inspection.isDeployable else { throw AppDefinitionError(problems: inspection.problems) }
            try await tool.registry.migrate()
            // Before the version becomes current: when the indexes can't be created, it stays as it was.
            let definition = inspection.definition
            let former = try await tool.registry.load(definition.id)?.definition
            if let former, !mayRepartition { try await requireSamePartitions(definition, as: former, tool) }
            let collections = try DeclaredCollections(definition, formerly: former)
            try await collections.apply(tool)
            let result = try await tool.registry.deploy(definition)
            var warnings = inspection.problems.map(\.description)
            do {
                try await tool.withProducer { try await AppRegistry.announce(result.app, with: $0) }
            } catch {
                // Services find the version by polling; the topic only makes it faster.
                warnings.append(
                    "warning: the broker can't announce the version; services check for new ones every few seconds")
            }
            warnings += try await collections.place(tool)
            let known = try await tool.registry.secretNames(of: result.app.id)
            for name in result.app.definition.secretNames where !known.contains(name) {
                warnings.append(
                    "warning: the secret \(name) isn't set; `partita secret set \(name) --app \(result.app.id)` sets it"
                )
            }
            let report = AppReport(result.app.definition, problems: inspection.problems, secrets: known)
            return Result(app: result.app, isNew: result.isNew, warnings: warnings, report: report.lines)
        }
    }

    /// - Throws: `UsageError` that lists the collections whose documents devices would lose.
    private static func requireSamePartitions(
        _ definition: AppDefinition, as former: AppDefinition, _ tool: Tool
    ) async throws {
        let store = DocumentStore(client: tool.postgres)
        let (before, after) = (AppStorage(former), AppStorage(definition))
        store.define(before)
        var losses: [String] = []
        for collection in former.collections {
            let place = ChangeEvent.Namespace(database: collection.database, collection: collection.name)
            guard let key = before.partitionKey(of: place) else { continue }
            let newKey = after.partitionKey(of: place)
            if let newKey, newKey.hasSameBytes(as: key) { continue }
            let count = try await store.collection(place.collection, database: place.database, app: former.id)
                .countDocuments()
            guard count > 0 else { continue }
            losses.append(
                "\(count) documents of \(place.database).\(place.collection): "
                    + (newKey.map { "by \($0) instead of \(key)" } ?? "not synced any more"))
        }
        guard !losses.isEmpty else { return }
        throw UsageError(
            "devices would lose documents that they have, and their unsent writes to them:\n  "
                + losses.joined(separator: "\n  ") + "\n--repartition deploys it anyway")
    }
}
