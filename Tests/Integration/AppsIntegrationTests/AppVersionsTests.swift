import AppDefinition
import AppDeployment
import AppRegistry
import DocumentModel
import Postgres
import Testing

/// What is kept of deployments, and going back to it.
struct AppVersionsTests {
    @Test func `an app with one version has none to go back to`() async throws {
        try await DeploymentWorld.with { world in
            _ = try await world.deployments.deploy(DeploymentWorld.files())
            let error = try await #require(throws: DeploymentError.self) {
                _ = try await world.deployments.rollBack("life", to: nil)
            }
            #expect(error.code == .versionUnknown && error.message.contains("no version before 1"), "\(error)")
        }
    }

    @Test func `what needs no definition doesn't read it`() async throws {
        try await DeploymentWorld.with { world in
            _ = try await world.deployments.deploy(DeploymentWorld.files())
            // One that can't be read.
            try await world.client.execute("update partita.app_versions set definition = '{}'")
            await #expect(throws: AppRegistryError.self) { _ = try await world.deployments.deployed("life") }
            #expect(try await world.deployments.deployedVersion(of: "life") == 1)
            #expect(try await world.deployments.functionLogs(of: "life", before: nil, limit: 10).isEmpty)
            #expect(try await world.deployments.deadLetters(of: "life", trigger: nil, after: 0, limit: 10).isEmpty)
            let error = await #expect(throws: DeploymentError.self) {
                _ = try await world.deployments.functionLogs(of: "gone", before: nil, limit: 10)
            }
            #expect(error?.code == .appUnknown && error?.message.contains("there are: life") == true)
        }
    }

    @Test func `a rollback chooses its version when it has its turn`() async throws {
        try await DeploymentWorld.with { world in
            @Sendable func files(_ number: Int) -> AppFiles {
                DeploymentWorld.files(more: ["values/a.json": #"{"name": "a", "value": \#(number)}"#])
            }
            for number in 1...2 { _ = try await world.deployments.deploy(files(number)) }
            /// Rolls back while another process deploys version 3.
            @Sendable func rollBack(to number: Int64?) async throws -> AppDeployments.Outcome {
                try await world.client.withConnection { connection in
                    let lock = "hashtextextended('partita.deployment life', 0)"
                    try await connection.execute("select pg_advisory_lock(\(lock))")
                    let waits = AsyncStream<Void>.makeStream()
                    var options = AppDeployments.Options()
                    options.waiting = { _ in waits.continuation.yield() }
                    let chosen = options
                    async let result = world.deployments.rollBack("life", to: number, chosen)
                    var turns = waits.stream.makeAsyncIterator()
                    _ = await turns.next()
                    try await world.registry.deploy(try AppDefinition(files: files(3)))
                    try await connection.runScript("select pg_advisory_unlock(\(lock))")
                    return try await result
                }
            }
            let error = try await #require(throws: DeploymentError.self) { _ = try await rollBack(to: nil) }
            #expect(error.code == .versionChanged && error.message.contains("version 3"), "\(error)")
            #expect(try await world.registry.history(of: "life").first?.number == 3)
            #expect(try await rollBack(to: 1).app?.version == 4)
            #expect(try await world.registry.history(of: "life").first?.restores == 1)
        }
    }

    @Test func `a history has its last versions, within its limits`() async throws {
        try await DeploymentWorld.with { world in
            try await world.registry.migrate()
            for number in 1...AppRegistry.historyCount + 5 {
                var files = DeploymentWorld.files(more: ["values/a.json": #"{"name": "a", "value": \#(number)}"#])
                files.otherFiles = ["hosting/files/x": [UInt8(number % 3)], "hosting/files/y": [UInt8(number)]]
                try await world.registry.deploy(
                    try AppDefinition(files: files), as: DeploymentRecord(message: "n \(number)", by: "ada@test"))
            }
            let history = try await world.registry.history(of: "life")
            #expect(history.count == AppRegistry.historyCount)
            #expect(history.first?.message == "n 55" && history.first?.isCurrent == true && history.last?.number == 6)
            #expect(Set(history.map(\.digest)).count == history.count)
            let stored = try await world.client.query("select count(*) from partita.app_files").decode(Int.self)
            #expect(stored == [53])
            // Large versions: what can't be compressed, so that only a few fit.
            let small = AppRegistry(client: world.client, historyBytes: 1 << 20)
            for _ in 1...6 {
                var files = DeploymentWorld.files()
                var random = SystemRandomNumberGenerator()
                var bytes = [UInt8](repeating: 0, count: 240 << 10)
                bytes.withUnsafeMutableBytes { buffer in
                    for word in buffer.bindMemory(to: UInt64.self).indices {
                        buffer.storeBytes(of: random.next(), toByteOffset: 8 * word, as: UInt64.self)
                    }
                }
                files.otherFiles = ["hosting/files/large": bytes]
                try await small.deploy(try AppDefinition(files: files))
            }
            let large = try await world.registry.history(of: "life")
            #expect(large.count == 4, "\(large.map(\.number))")
            let (_, files) = try await world.registry.version(nil, of: "life")
            #expect(files.otherFiles["hosting/files/large"]?.count == 240 << 10)
        }
    }
}
