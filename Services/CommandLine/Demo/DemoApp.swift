import AppDefinition
import Auth
import DocumentModel
import EventLoop
import Foundation
import HTTPClient

/// The folder of an app that has a journey, with its sample data: `sample/users.json`, as `partita users import` reads it, and
/// `sample/DATABASE.COLLECTION.jsonl`, as `partita documents insert` does.
struct DemoApp {
    private let app: String
    private let folder: String

    private static let folders = ["Deploy/apps", "/usr/local/share/partita/apps"]

    /// - Parameter folder: the folder with the apps' folders; `nil` looks in the usual places.
    init(_ app: String, in folder: String?) {
        self.app = app
        let root =
            folder ?? Self.folders.first { FileManager.default.fileExists(atPath: "\($0)/\(app)") } ?? Self.folders[0]
        self.folder = "\(root)/\(app)"
    }

    /// Deploys the app if it isn't, and adds what is missing of its sample data.
    ///
    /// - Returns: the time until which permissions, which can't be asked, may not know the app yet; all others do.
    func prepare(_ configuration: LocalConfiguration, on loop: EventLoop) async throws -> ContinuousClock.Instant {
        let isDeployed = try await Tool.run(configuration) { [app] in try await $0.registry.load(app) != nil }
        if !isDeployed {
            guard FileManager.default.fileExists(atPath: folder) else {
                throw UsageError("\(app) isn't deployed, and there is no \(folder): pass --apps")
            }
            let files = try AppFiles(folder: folder)
            try await Progress.step("deploying \(folder)") {
                _ = try await Tool.run(configuration) { try await $0.deployments.deploy(files) }
            }
        }
        try await Tool.run(configuration) { try await addSample(to: $0) }
        guard !isDeployed else { return .now }
        try await waitUntilKnown(at: configuration.authURL, on: loop)
        return .now + .seconds(5)
    }

    /// Waits until the services that clients call know the app.
    private func waitUntilKnown(at url: String, on loop: EventLoop) async throws {
        let http = HTTPClient(loop: loop)
        let calls = [
            ("GET", "/api/client/v2.0/app/\(app)/location"), ("POST", "/api/client/v2.0/app/\(app)/functions/call"),
            ("POST", "/app/\(app)/endpoint/data/v1/action/find"),
        ]
        do {
            for (method, path) in calls {
                try await eventually("\(path) is there") {
                    let answer = try await http.send(.init(method: method, url: url + path, body: []))
                    return answer.text.contains("AppNotFound") || answer.status == 503 ? nil : true
                }
            }
        } catch {
            await http.shutDown()
            throw error
        }
        await http.shutDown()
    }

    private func addSample(to tool: Tool) async throws {
        let sample = folder + "/sample"
        // The journey of rchat needs none, and so no folder.
        guard FileManager.default.fileExists(atPath: sample) else {
            guard app == "rchat" else { throw UsageError("there is no \(sample): pass --apps") }
            return
        }
        try await AccountAdministration.migrate(tool.postgres)
        var file = try UserListFile(sample + "/users.json")
        var users: [ImportedUser] = []
        while let entry = try file.entry() {
            users.append(try ImportedUser(try ExtendedJSON.parseDocument(entry.text), now: WallClock.system.now()))
        }
        let outcomes = try await AccountImport(client: tool.postgres, app: app).add(users)
        let added = outcomes.count { if case .added = $0 { true } else { false } }
        if added > 0 {
            Progress.line(
                "\(added) sample accounts were added, whose password is published: not for a system that others reach")
        }
        let store = try await tool.store(of: app).store
        for name in try FileManager.default.contentsOfDirectory(atPath: sample).sorted() where name.hasSuffix(".jsonl")
        {
            let parts = name.dropLast(".jsonl".count).split(separator: ".", maxSplits: 1).map(String.init)
            guard parts.count == 2 else { throw ToolError("\(sample)/\(name) isn't DATABASE.COLLECTION.jsonl") }
            let collection = store.collection(parts[1], database: parts[0], app: app)
            for line in try String(contentsOfFile: "\(sample)/\(name)", encoding: .utf8).split(separator: "\n") {
                let document = try ExtendedJSON.parseDocument(String(line))
                if try await collection.findOne(["_id": document["_id"] ?? .null]) == nil {
                    _ = try await collection.insertOne(document)
                }
            }
        }
    }
}
