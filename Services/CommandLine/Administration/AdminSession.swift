import AppDefinition
import AppDeployment
import Archives
import Auth
import DocumentModel
import Foundation
import Logging

/// Where an administrative command works: by the API of a server (`--server`), or straight on Postgres. Both do and return the same.
struct AdminSession: Sendable {
    private enum Place: Sendable {
        case server(AdminServer)
        case postgres(Administration, Tool)
    }

    private let place: Place

    /// The options that say where.
    static let options = [
        Command.Option(
            "server", value: "URL",
            "administer the system at this address by its API, with the token in PARTITA_ADMIN_TOKEN, instead of by Postgres"
        ),
        LocalConfiguration.option,
    ]

    static func run<R: Sendable>(
        _ arguments: Arguments, _ body: @Sendable (AdminSession) async throws -> R
    ) async throws -> R {
        if let url = arguments.value("server") {
            LoggingSystem.bootstrap(level: .error, format: .text)
            return try await AdminServer.run(url) { try await body(AdminSession(place: .server($0))) }
        }
        return try await Tool.run(try LocalConfiguration(arguments: arguments)) { tool in
            try await body(AdminSession(place: .postgres(tool.administration, tool)))
        }
    }

    /// Does what a call asks for.
    func perform(_ call: AdminCall) async throws -> AdminAnswer {
        switch place {
        case .server(let server): return try await server.perform(call)
        case .postgres(let administration, let tool):
            // Auth creates its tables at its first start, which may be later.
            try await AccountAdministration.migrate(tool.postgres)
            return try await administration.perform(call)
        }
    }

    /// The JSON of what a call returns.
    func document(_ call: AdminCall) async throws -> Document { try await perform(call).document ?? Document() }

    /// The app with this id; without an id, the only one that is deployed.
    func app(_ id: String?) async throws -> String {
        if let id { return id }
        let apps = try await document(AdminCall(.listApps))["apps"]?.arrayValue ?? []
        let ids = apps.compactMap { $0["app"]?.stringValue }
        guard ids.count == 1 else { throw Tool.noApp(nil, among: ids) }
        return ids[0]
    }

    /// The app that the parameter `APP` or `--app` names, or the only one that is deployed.
    func app(_ arguments: Arguments) async throws -> String {
        try await app(arguments.parameter("APP") ?? arguments.app)
    }

    // MARK: Apps

    func deploy(_ files: AppFiles, _ options: AppDeployments.Options) async throws -> Document {
        switch place {
        case .server:
            var query = Self.query(options)
            query += [("dryRun", options.isDryRun ? "true" : nil)]
            return try await send(.deploy, files, query)
        case .postgres(let administration, _): return try await administration.deploy(files, options)
        }
    }

    func difference(_ files: AppFiles) async throws -> Document {
        switch place {
        case .server: try await send(.diff, files, [])
        case .postgres(let administration, _): try await administration.difference(files)
        }
    }

    func rollBack(_ app: String, to version: Int64?, _ options: AppDeployments.Options) async throws -> Document {
        switch place {
        case .server:
            try await document(
                AdminCall(
                    .rollBack, ["app": app], pairs: Self.query(options) + [("to", version.map { "\($0)" })]))
        case .postgres(let administration, _): try await administration.rollBack(app, to: version, options)
        }
    }

    /// - Parameter wait: seconds; the API waits for two minutes at most.
    func remove(_ app: String, deletesDocuments: Bool, wait: Int?) async throws -> Document {
        switch place {
        case .server:
            try await document(
                AdminCall(
                    .remove, ["app": app],
                    query: [
                        "documents": deletesDocuments ? "true" : nil,
                        "wait": wait.map { "\(min($0, Administration.waitLimit))" },
                    ]))
        case .postgres(let administration, _):
            try await administration.remove(
                app, deletesDocuments: deletesDocuments, wait: wait.map { .seconds($0) },
                waiting: { Progress.line($0 + "; waiting") })
        }
    }

    private static func query(_ options: AppDeployments.Options) -> [(name: String, value: String?)] {
        let isDefault = options.lockLimit == AppDeployments.Options().lockLimit
        return [
            ("message", options.message), ("repartition", options.mayRepartition ? "true" : nil),
            ("allowBreaking", options.mayBreakSchema ? "true" : nil),
            ("wait", isDefault ? nil : "\(min(Int(options.lockLimit.components.seconds), Administration.waitLimit))"),
        ]
    }

    private func send(_ action: AdminAction, _ files: AppFiles, _ query: [(name: String, value: String?)]) async throws
        -> Document
    {
        let inspection = AppDefinition.inspect(files)
        guard inspection.isDeployable else { throw AppDefinitionError(problems: inspection.problems) }
        // What isn't sent, the server can't see.
        for problem in files.problems { Progress.line(problem.description) }
        let choices: [(name: String, value: String?)] = [
            ("appId", files.choices.appId?.text), ("syncBy", files.choices.syncBy?.text),
        ]
        return try await document(
            AdminCall(
                action, ["app": inspection.definition.id], pairs: query + choices,
                body: try ArchiveWriter(.tarGzip).archive(files.original)))
    }
}

extension Tool {
    /// What administrators do, as whoever runs the tool.
    var administration: Administration {
        Administration(
            client: postgres, keys: keys, loop: loops.next(), operator: Self.operator, hosting: hosting,
            publish: { send in try await withProducer { try await send($0) } })
    }
}
