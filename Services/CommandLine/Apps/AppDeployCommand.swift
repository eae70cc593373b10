import AppDefinition
import AppRegistry
import ChildProcesses
import DocumentStore
import EventStream
import EventTopics
import FunctionProtocol
import Functions
import Kafka
import Logging

/// `partita app deploy DIRECTORY`.
enum AppDeployCommand {
    static let command = Command(
        name: "app deploy", summary: "Check an app folder, and make it the version that runs",
        parameters: ["DIRECTORY"],
        options: [LocalConfiguration.option]
    ) { arguments in
        let result = try await deploy(
            try arguments.required("DIRECTORY"), configuration: try LocalConfiguration(arguments: arguments))
        print(
            result.isNew
                ? "\(result.app.id) version \(result.app.version) is deployed"
                : "\(result.app.id) is unchanged, version \(result.app.version)")
    }

    /// Checks everything first: a folder with an error changes nothing.
    /// - Throws: `AppDefinitionError` that lists every problem with file and place.
    static func deploy(
        _ directory: String, configuration: LocalConfiguration
    ) async throws -> (app: DeployedApp, isNew: Bool) {
        try await Tool.run(configuration) { tool in
            let definition = try await checked(directory, tool: tool)
            try await tool.registry.migrate()
            // Before the version counts: where they can't be made, it changes nothing.
            try await DeclaredCollections(definition, formerly: tool.registry.load(definition.id)?.definition).apply(
                tool)
            let result = try await tool.registry.deploy(definition)
            // Services would find it at their next look; the topic makes it faster.
            try await tool.withProducer { try await AppRegistry.announce(result.app, with: $0) }
            return result
        }
    }

    private static func checked(_ directory: String, tool: Tool) async throws -> AppDefinition {
        let files = try AppFiles(folder: directory)
        let pool = FunctionHostPool(
            configuration: .init(hosts: 1), loop: tool.loops.next(), logger: Logger(label: "functions"))
        let running = Task { try await pool.run() }
        defer { running.cancel() }
        var problems: [String: AppDefinition.SyntaxProblem] = [:]
        for function in AppDefinition.inspect(files).definition.functions {
            if let failure = try await pool.check(.init(name: function.name, text: function.source)) {
                problems[function.name] = .init(line: failure.line, message: failure.message)
            }
        }
        return try AppDefinition(files: files) { _, name in problems[name] }
    }
}
