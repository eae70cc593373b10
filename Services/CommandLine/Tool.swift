import AppDeployment
import AppRegistry
import DocumentModel
import DocumentStore
import EventLoop
import EventStream
import Foundation
import Kafka
import Lifecycle
import Logging
import Postgres
import Secrets
import ServiceEngines
import SyncEngine

/// The tool's direct access to the engines: anyone who can connect to Postgres is the administrator.
struct Tool: Sendable {
    let postgres: PostgresClient
    let kafka: KafkaConfiguration
    let pool: String
    /// The replication factor of topics; `nil` is the broker's default.
    let replication: Int?
    let registry: AppRegistry
    /// The keys that secrets are encrypted with.
    let keys: KeyRing
    /// Where apps' hosted files are served.
    let hosting: HostingAddress?
    let loops: LoopGroup

    /// Runs `body` with clients that are closed afterwards.
    static func run<R: Sendable>(
        _ configuration: LocalConfiguration, _ body: @Sendable (Tool) async throws -> R
    ) async throws -> R {
        LoggingSystem.bootstrap(level: .error, format: .text)
        let loops = LoopGroup(1)
        let engines = try configuration.engines()
        var settings = try EngineSettings.postgres(engines, as: "partita")
        settings.connections = 4
        // The timeouts are short, since a user waits for the result.
        settings.connectTimeout = .seconds(3)
        settings.leaseTimeout = .seconds(5)
        do {
            return try await run(settings, configuration, on: loops, body)
        } catch let error as PostgresError where error.code != .server {
            let message = (error.underlyingError as? PostgresError)?.message ?? error.message
            // libpq's further lines only guess at causes.
            let reason = message.split(separator: "\n").first ?? ""
            throw ToolError(
                "Postgres can't be reached at \(configuration.postgresPlace): \(reason). Is the system running?")
        } catch let error as PostgresError where error.sqlstate == "25006" {
            throw ToolError(
                "Postgres at \(configuration.postgresPlace) only reads: it is a standby, or default_transaction_read_only is on. The tool writes its part of the audit log and needs the primary"
            )
        } catch let error as PostgresError {
            // Anyone who can connect to Postgres may read its messages.
            throw ToolError("Postgres refused the statement: \(error.message) (\(error.sqlstate ?? "no SQLSTATE"))")
        } catch let error as KafkaError {
            throw ToolError("the broker at \(configuration.kafkaBootstrap): \(error.message)")
        }
    }

    private static func run<R: Sendable>(
        _ settings: PostgresConfiguration, _ configuration: LocalConfiguration, on loops: LoopGroup,
        _ body: @Sendable (Tool) async throws -> R
    ) async throws -> R {
        try await PostgresClient.withClient(settings, on: loops) { client in
            let engines = try configuration.engines()
            let tool = Tool(
                postgres: client, kafka: try EngineSettings.kafka(engines, as: "partita"),
                pool: configuration.pool, replication: EngineSettings.replication(engines),
                registry: AppRegistry(client: client, keys: configuration.keys), keys: configuration.keys,
                hosting: try HostingAddress(engines), loops: loops)
            _ = try await client.query("select 1")
            return try await body(tool)
        }
    }

    /// The app with this id, or without an id the only deployed app.
    /// - Throws: `ToolError` that lists the deployed apps.
    func app(_ id: String?) async throws -> DeployedApp {
        let versions = try await registry.versions()
        if let id = id ?? (versions.count == 1 ? versions.keys.first?.text : nil), let app = try await registry.load(id)
        {
            return app
        }
        throw Self.noApp(id, among: versions.keys.sorted().map(\.text))
    }

    /// - Parameter ids: those of the deployed apps.
    static func noApp(_ id: String?, among ids: [String]) -> ToolError {
        ToolError(
            (id.map { "no app \($0) is deployed" } ?? (ids.isEmpty ? "no app is deployed" : "--app is missing"))
                + (ids.isEmpty ? "; `partita app deploy` deploys one" : "; there are: \(ids.joined(separator: ", "))"))
    }

    /// The document store with an app's collections; the app is chosen as in `app(_:)`.
    func store(of id: String?) async throws -> (store: DocumentStore, app: DeployedApp) {
        let app = try await app(id)
        let store = DocumentStore(client: postgres)
        store.define(AppStorage(app.definition))
        return (store, app)
    }

    /// Who runs the tool, and where.
    static var `operator`: String { "\(NSUserName())@\(ProcessInfo.processInfo.hostName)" }

    /// What operators do with apps, as whoever runs the tool.
    var deployments: AppDeployments {
        AppDeployments(
            client: postgres, registry: registry, loop: loops.next(), operator: Self.operator, hosting: hosting,
            publish: { send in try await withProducer { try await send($0) } })
    }

    /// Sends events with a producer that is closed afterwards.
    func withProducer<R: Sendable>(_ body: @Sendable (EventProducer) async throws -> R) async throws -> R {
        let producer = KafkaProducer(
            configuration: kafka, options: KafkaProducerOptions(deliveryTimeout: .seconds(5)), loop: loops.next())
        do {
            let result = try await body(EventProducer(producer, pool: pool))
            await producer.close()
            return result
        } catch {
            await producer.close()
            throw error
        }
    }
}
