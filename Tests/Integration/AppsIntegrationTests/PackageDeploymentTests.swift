import AppDefinition
import AppRegistry
import DocumentModel
import EventLoop
import FunctionProtocol
import Functions
import Logging
import Postgres
import TestSupport
import Testing

/// Packages travel with an app's definition from the deployment to its functions.
struct PackageDeploymentTests {
    private static func definition(_ source: String, packages: [String: String]) throws -> AppDefinition {
        var files: AppFiles = [
            "realm_config.json": #"{"config_version": 20210101, "app_id": "packages", "name": "packages"}"#,
            "functions/config.json": #"[{"name": "f", "private": false}]"#, "functions/f.js": source,
        ]
        var collector = PackageCollector()
        for (path, text) in packages { try collector.add(path, Array(text.utf8)) }
        files.packages = collector.packages
        return try AppDefinition(files: files)
    }

    private static func with(
        _ body: @Sendable (AppRegistry, FunctionHostPool, PostgresClient) async throws -> Void
    ) async throws {
        let loops = LoopGroup(1)
        let url = try await TestEngines.shared().makeDatabase()
        try await PostgresClient.withClient(PostgresConfiguration(url: url), on: loops) { client in
            let registry = AppRegistry(client: client)
            try await registry.migrate()
            let hosts = FunctionHostPool(
                configuration: .init(hosts: 1), loop: loops.next(), logger: Logger(label: "hosts"))
            let running = Task { try await hosts.run() }
            let result: Result<Void, any Error>
            do { result = .success(try await body(registry, hosts, client)) } catch { result = .failure(error) }
            running.cancel()
            try await running.value
            try result.get()
        }
    }

    @Test func `a deployed app's functions have its packages, which are stored once`() async throws {
        try await Self.with { registry, hosts, client in
            func run() async throws -> Value {
                let app = try #require(try await registry.load("packages"))
                return try await hosts.run(
                    FunctionInvocation(
                        bundle: FunctionBundle(app.definition, version: app.version), function: "f",
                        perform: { _ in .success(.null) }))
            }
            func stored() async throws -> Int64? {
                try await client.query("SELECT count(*) FROM partita.app_packages").decode(Int64.self).first
            }
            let packages = ["a/index.js": "module.exports = 'one \\u0000'"]
            let first = try Self.definition("exports = () => require('a')", packages: packages)
            #expect(try await registry.deploy(first).isNew)
            #expect(try await run().stringValue == "one \u{0}")
            #expect(try await registry.deploy(first).isNew == false)
            // Another source, the same packages.
            let second = try Self.definition("exports = () => require('a') + 2", packages: packages)
            #expect(try await registry.deploy(second).isNew)
            #expect(try await run().stringValue == "one \u{0}2")
            #expect(try await stored() == 1)
            // Only other packages.
            let third = try Self.definition(
                "exports = () => require('a') + 2", packages: ["a/index.js": "module.exports = 'three'"])
            #expect(try await registry.deploy(third).isNew)
            #expect(try await run().stringValue == "three2")
            #expect(try await stored() == 2)
            // None.
            #expect(try await registry.deploy(try Self.definition("exports = () => 1", packages: [:])).isNew)
            #expect(try await registry.load("packages")?.definition.files.packages == AppPackages.none)
            #expect(try await run().intValue == 1)
        }
    }

    @Test func `as many bytes of packages as are allowed reach the functions`() async throws {
        try await Self.with { registry, hosts, _ in
            let part = String(repeating: "// \"a\"\n", count: PackageCollector.totalLimit / 80)
            var packages: [String: String] = [:]
            for number in 0..<9 { packages["a/\(number).js"] = part + "module.exports = \(number)" }
            let definition = try Self.definition("exports = () => require('a/8')", packages: packages)
            let app = try await registry.deploy(definition).app
            let result = try await hosts.run(
                FunctionInvocation(
                    bundle: FunctionBundle(app.definition, version: app.version), function: "f",
                    perform: { _ in .success(.null) }))
            #expect(result.intValue == 8)
        }
    }
}
