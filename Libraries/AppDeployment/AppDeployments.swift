import AppDefinition
public import AppRegistry
import DocumentModel
import DocumentStore
public import EventLoop
public import EventStream
import EventTopics
public import Postgres
public import ServiceEngines
import SyncEngine

/// What operators do with deployed apps: deploy, compare, roll back, export and remove them, pause their triggers, and ask why a user may or
/// may not open a partition. The tool's commands are thin layers on it.
public struct AppDeployments: Sendable {
    let client: PostgresClient
    let registry: AppRegistry
    let loop: EventLoop
    /// Who works, and where: `ada@build-1`.
    let by: String
    let hosting: HostingAddress?
    private let publish: @Sendable (_ send: @Sendable (EventProducer) async throws -> Void) async throws -> Void

    /// - Parameters:
    ///   - client: with at least three connections.
    ///   - loop: for the process that parses functions.
    ///   - operator: who works, and where; at most 100 characters are kept.
    ///   - hosting: where apps' hosted files are served, for reports.
    ///   - publish: gives its argument a producer of the topics. An error is reported as a warning, since services find new versions by
    ///     themselves.
    public init(
        client: PostgresClient, registry: AppRegistry, loop: EventLoop, operator: String,
        hosting: HostingAddress? = nil,
        publish:
            @escaping @Sendable (_ send: @Sendable (EventProducer) async throws -> Void) async throws -> Void
    ) {
        self.client = client
        self.registry = registry
        self.loop = loop
        by = String(`operator`.filter { !$0.isNewline }.prefix(100))
        self.hosting = hosting
        self.publish = publish
    }

    /// Tells services of an app's version, or that it was removed.
    /// - Returns: a warning if the broker doesn't take the message.
    func announce(_ app: String, _ version: DeployedApp?) async -> String? {
        do {
            try await publish { producer in
                if let version {
                    try await AppRegistry.announce(version, with: producer)
                } else {
                    try await producer.remove(key: app, from: AppDefinitionEvent.topic)
                }
            }
            return nil
        } catch {
            return "warning: the broker can't announce the version; services check for new ones every few seconds"
        }
    }

    /// Publishes events.
    /// - Throws: also the broker's error, if it doesn't take them.
    func send(_ events: @Sendable (EventProducer) async throws -> Void) async throws { try await publish(events) }

    /// Waits until every running service has a version, or none when it was removed.
    /// - Returns: the processes that don't have it when the time is over.
    func waitForServices(_ app: String, version: Int64?, limit: Duration) async throws -> [AppRegistry.LateInstance] {
        let deadline = ContinuousClock.now + limit
        while true {
            let late = try await registry.instances(of: app, before: version)
            if late.isEmpty || ContinuousClock.now >= deadline { return late }
            try await Task.sleep(for: .milliseconds(50))  // the services write rows, and tell nobody
        }
    }

    /// The store with an app's collections.
    func store(_ definition: AppDefinition) -> DocumentStore {
        let store = DocumentStore(client: client)
        store.define(AppStorage(definition))
        return store
    }

    /// Creates missing tables.
    func prepare() async throws {
        try await registry.migrate()
        try await DocumentStore.migrations.apply(on: client)
    }

    /// The deployed version of an app.
    /// - Throws: `DeploymentError` with code `appUnknown`.
    public func deployed(_ app: String) async throws -> DeployedApp {
        guard let deployed = try await registry.load(app) else {
            throw Self.notDeployed(app, try await registry.versions())
        }
        return deployed
    }

    /// The number of an app's deployed version. Its definition, which may have megabytes of packages, isn't read.
    /// - Throws: `DeploymentError` with code `appUnknown`.
    @discardableResult
    public func deployedVersion(of app: String) async throws -> Int64 {
        let versions = try await registry.versions()
        guard let version = versions[app] else { throw Self.notDeployed(app, versions) }
        return version
    }

    private static func notDeployed(_ app: String, _ versions: [ExactText: Int64]) -> DeploymentError {
        let ids = versions.keys.sorted().map(\.text)
        return DeploymentError(
            .appUnknown,
            "no app \(app) is deployed" + (ids.isEmpty ? "" : "; there are: \(ids.joined(separator: ", "))"))
    }
}
