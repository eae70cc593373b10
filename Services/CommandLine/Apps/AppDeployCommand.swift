import AppDefinition
import AppRegistry
import ChildProcesses
import DocumentModel
import DocumentStore
import EventStream
import EventTopics
import FunctionProtocol
import Functions
import Kafka
import Logging
import ServiceEngines
import SyncEngine

/// `partita app deploy DIRECTORY`.
enum AppDeployCommand {
    static let command = Command(
        name: "app deploy", summary: "Check an app folder, and make it the version that runs",
        parameters: ["DIRECTORY"],
        options: [
            Command.Option(
                "repartition",
                "deploy although documents leave the partitions that devices have: unsent writes to them are lost"),
            LocalConfiguration.option,
        ]
    ) { arguments in
        let result = try await deploy(
            try arguments.required("DIRECTORY"), configuration: try LocalConfiguration(arguments: arguments),
            mayRepartition: arguments.has("repartition"))
        for warning in result.warnings { Progress.line(warning) }
        for line in syncReport(of: result.app.definition) { Output.line(line) }
        Output.line(
            result.isNew
                ? "\(result.app.id) version \(result.app.version) is deployed"
                : "\(result.app.id) is unchanged, version \(result.app.version)")
    }

    /// Which collections devices know, and why they don't know the others; nothing for an app that doesn't sync.
    static func syncReport(of definition: AppDefinition) -> [String] {
        guard definition.sync != nil else { return [] }
        return definition.collections.map { "\($0.database).\($0.name) is \(definition.syncVerdict(of: $0))" }
    }

    /// Checks everything first: a folder with an error changes nothing.
    /// - Parameter mayRepartition: whether documents may leave the partitions in which devices have them.
    /// - Throws: `AppDefinitionError` that lists every problem with file and place.
    static func deploy(
        _ directory: String, configuration: LocalConfiguration, mayRepartition: Bool = false
    ) async throws -> (app: DeployedApp, isNew: Bool, warnings: [String]) {
        try await Tool.run(configuration) { tool in
            let inspection = try await checked(directory, tool: tool)
            try await tool.registry.migrate()
            // Before the version counts: where they can't be made, it changes nothing.
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
                // Services find it at their next look; the topic only makes it faster.
                warnings.append(
                    "warning: the broker doesn't take the news; services look by themselves every few seconds")
            }
            warnings += try await collections.place(tool)
            let known = try await tool.registry.secretNames(of: result.app.id)
            for name in result.app.definition.secretNames where !known.contains(name) {
                warnings.append(
                    "warning: the secret \(name) isn't set; `partita secret set \(name) --app \(result.app.id)` sets it"
                )
            }
            return (result.app, result.isNew, warnings)
        }
    }

    /// - Throws: `UsageError` that names the collections whose documents devices would lose.
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
            "devices would lose documents that they have, and what they haven't sent of them:\n  "
                + losses.joined(separator: "\n  ") + "\n--repartition deploys it all the same")
    }

    private static func checked(_ directory: String, tool: Tool) async throws -> AppDefinition.Inspection {
        let files = try AppFiles(folder: directory)
        let pool = FunctionHostPool(
            configuration: .init(hosts: 1), loop: tool.loops.next(), logger: Logger(label: "functions"))
        let running = Task { try await pool.run() }
        defer { running.cancel() }
        var problems: [ExactText: AppDefinition.SyntaxProblem] = [:]
        for function in AppDefinition.inspect(files).definition.functions {
            if let failure = try await pool.check(.init(name: function.name, text: function.source)) {
                problems[function.name] = .init(line: failure.line, message: failure.message)
            }
        }
        let inspection = AppDefinition.inspect(files) { _, name in problems[name] }
        guard inspection.isDeployable else { throw AppDefinitionError(problems: inspection.problems) }
        return inspection
    }
}
