import AppDefinition
import ChildProcesses
import DocumentModel
import DocumentStore
import EventLoop
import FunctionProtocol
import Functions
import Logging
import Postgres
import SyncEngine
import TestSupport

/// A pool of host processes, and a document store for what the functions ask.
struct PoolFixture: Sendable {
    static let app = "test"

    let hosts: FunctionHostPool
    let store: DocumentStore
    let postgres: PostgresClient

    static func with(
        hosts: Int = 1, calls: Int = 1024, memoryLimit: Int = 350 << 20,
        executable: String = CurrentEnvironment.sibling("function-host"),
        _ body: @Sendable (PoolFixture) async throws -> Void
    ) async throws {
        let loops = LoopGroup(1)
        let url = try await TestEngines.shared().makeDatabase()
        var configuration = PostgresConfiguration(url: url)
        // Many tests make a database at once, which a slow disk delays.
        configuration.leaseTimeout = .seconds(60)
        try await PostgresClient.withClient(configuration, on: loops) { client in
            try await DocumentStore.migrations.apply(on: client)
            let pool = FunctionHostPool(
                configuration: .init(
                    hosts: hosts, calls: calls, memoryLimit: memoryLimit, executable: executable),
                loop: loops.next(),
                logger: Logger(label: "hosts"))
            let running = Task { try await pool.run() }
            let store = DocumentStore(client: client)
            store.define(AppStorage(app: app, syncDatabase: "", partitionKey: nil))
            let result: Result<Void, any Error>
            do {
                result = .success(try await body(PoolFixture(hosts: pool, store: store, postgres: client)))
            } catch {
                result = .failure(error)
            }
            running.cancel()
            try await running.value
            try result.get()
        }
    }

    var items: DocumentCollection { store.collection("Item", database: "Test", app: Self.app) }

    /// Runs a function of this source, of which an app has two.
    func run(
        _ source: String, _ arguments: [Value] = [], function: String = "f", app: String = PoolFixture.app,
        share: String? = nil, user: String? = nil, limits: FunctionInvocation.Limits = .init(),
        turns: DocumentTurns? = nil,
        effect: (@Sendable (FunctionEffect) async -> Result<Value, EffectFailure>)? = nil,
        finish: (@Sendable () async -> Void)? = nil, log: @escaping @Sendable (ConsoleLine) -> Void = { _ in }
    ) async throws -> Value {
        let effects = DocumentEffects(store: store, app: Self.app, turns: turns, user: user)
        let result: Result<Value, any Error>
        do {
            result = .success(
                try await hosts.run(
                    FunctionInvocation(
                        bundle: FunctionBundle(
                            app: app, version: Int64(source.hashValue),
                            functions: ["f", "g"].map { .init(name: $0, text: source) }),
                        share: share, user: user, function: function, arguments: arguments,
                        context: ["services": ["mongodb-atlas": "mongodb-atlas"]],
                        limits: limits,
                        perform: effect ?? { await effects.perform($0) }, finish: finish, log: log)))
        } catch {
            result = .failure(error)
        }
        await effects.finish()
        return try result.get()
    }
}
