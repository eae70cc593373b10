import AccessTokens
import AppDefinition
import AppRegistry
import DocumentModel
import DocumentStore
import EventLoop
import EventStream
import EventTopics
import Foundation
import FoundationNetworking
import Kafka
import Lifecycle
import Logging
import Metrics
import Postgres
import ServiceBootstrap
import ServiceEngines
import SyncEngine
import SyncGateway
import TestSupport

/// A gateway in this process, on real engines, with an app whose grants the tests write themselves.
final class GatewayFixture: Sendable {
    static let loops = LoopGroup(1)
    static let app = "rchat"

    let port: Int
    let databaseURL: String
    let postgres: PostgresClient
    let store: DocumentStore
    let events: EventProducer
    /// What permissions would send.
    let heartbeats: Heartbeats
    private let kafka: KafkaConfiguration
    private let gateway: ServiceGroup
    private let values: [String: String]
    private let key: TokenSigningKey

    /// Shared by all tests but those that end it: partitions keep them apart.
    static func shared() async throws -> GatewayFixture { try await starter.fixture() }

    private static let starter = Starter()

    private actor Starter {
        private var started: Task<GatewayFixture, any Error>?

        func fixture() async throws -> GatewayFixture {
            let task = started ?? Task { try await GatewayFixture() }
            started = task
            return try await task.value
        }
    }

    /// - Parameters:
    ///   - presenceTTL: a third of it is the time that a device has to answer a ping.
    ///   - heartbeats: how long a heartbeat of permissions is valid.
    ///   - connections: how many a user may have; tests have few users, and leave their devices open.
    ///   - settings: other values of the gateway's configuration.
    init(
        presenceTTL: Duration = .seconds(15), heartbeats validity: Duration = .seconds(60), connections: Int = 1000,
        settings: [String: String] = [:]
    ) async throws {
        let engines = try await TestEngines.shared()
        let database = try await engines.makeDatabase()
        databaseURL = database
        let pool = engines.makePool()
        let values = [
            "http.address": "127.0.0.1", "http.port": "0", "loops": "1", "postgres.url": database,
            "redis.url": engines.redisURL, "kafka.pool": pool,
            "presence.ttl": "\(presenceTTL.components.seconds)s", "device.connections": "\(connections)",
        ].merging(engines.kafkaSettings) { $1 }.merging(settings) { $1 }
        self.values = values
        let (gateway, ports) = try Self.makeGateway(values)
        var configuration = PostgresConfiguration(url: database)
        configuration.connections = 4
        let postgres = PostgresClient(configuration: configuration, on: Self.loops)
        kafka = engines.kafka
        events = EventProducer(KafkaProducer(configuration: kafka, loop: Self.loops.next()), pool: pool)
        store = DocumentStore(client: postgres)
        self.postgres = postgres
        self.gateway = gateway
        key = try TokenSigningKey(generatingWithId: "key-of-the-tests")
        // They run as long as the test process, which ends them by its exit, or until `stop`.
        Task { try await postgres.run() }
        Task { try await gateway.run() }
        heartbeats = Heartbeats(events, validity: validity)
        var iterator = ports.makeAsyncIterator()
        guard let port = await iterator.next() else { throw CancellationError() }
        self.port = port
        try await eventually("the gateway is ready", within: .seconds(60), every: .milliseconds(50)) {
            try await isReady(port)
        }
        let definition = try AppDefinition(folder: Self.folder)
        store.define(AppStorage(definition))
        let deployed = try await AppRegistry(client: postgres).deploy(definition)
        try await AppRegistry.announce(deployed.app, with: events)
        try await events.send(SigningKeyEvent(keyID: key.id, jwk: key.publicKey.jwk, notBefore: 0, expires: .max / 2))
        try await eventually("devices are welcome", within: patience, every: .milliseconds(50)) {
            let device = try await Device(port: port)
            defer { device.close() }
            try await device.send(.hello(.init(device: "probe", token: token("probe"))))
            if case .welcome = try await device.next() { return true }
            return false
        }
    }

    private static func makeGateway(_ values: [String: String]) throws -> (ServiceGroup, ports: AsyncStream<Int>) {
        let (ports, listening) = AsyncStream.makeStream(of: Int.self)
        let hosted = Hosted(
            configuration: try Configuration(keys: SyncGatewayServer.main.allKeys, fileValues: values),
            listening: listening)
        return (ServiceGroup(services: [hosted], logger: Logger(label: "gateway")), ports)
    }

    /// Starts another gateway of the same system, which runs as long as the test process.
    /// - Returns: its port, when it is ready.
    func addGateway() async throws -> Int {
        let (gateway, ports) = try Self.makeGateway(values)
        Task { try await gateway.run() }
        var iterator = ports.makeAsyncIterator()
        guard let port = await iterator.next() else { throw CancellationError() }
        try await eventually("the other gateway is ready", within: .seconds(60), every: .milliseconds(50)) {
            try await isReady(port)
        }
        return port
    }

    private struct Hosted: Service {
        let configuration: Configuration
        let listening: AsyncStream<Int>.Continuation

        func run() async throws {
            try await SyncGatewayServer.main.run(
                configuration, registry: MetricsRegistry(), listening: { listening.yield($0) }
            ) { try SyncGatewayServer.make(&$0) }
        }
    }

    /// The folder of the app.
    static var folder: String {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../../Deploy/apps/rchat")
            .standardized.path
    }

    private func isReady(_ port: Int) async throws -> Bool {
        guard let url = URL(string: "http://127.0.0.1:\(port)/health/ready") else { throw URLError(.badURL) }
        return (try await URLSession.shared.data(from: url).1 as? HTTPURLResponse)?.statusCode == 200
    }

    /// Begins the graceful shutdown.
    func stop() { gateway.triggerGracefulShutdown() }

    // MARK: Users and grants

    func token(
        _ user: String, app: String = app, session: String = "s", lifetime: Int64 = 600, data: Document = [:]
    ) throws -> String {
        let now = Int64(Date().timeIntervalSince1970)
        return try key.sign(
            TokenClaims(
                session: session, user: user, device: "d", app: app, type: .access, issuedAt: now - 1200,
                expiresAt: now + lifetime, data: data))
    }

    /// Decides as permissions would: writes the row, then the topic.
    func grant(
        _ access: Grant.Access, to user: String, in partition: Partition, version: Int64 = 1, isFence: Bool = false,
        lifetime: Duration? = nil, app: String = app
    ) async throws {
        try await postgres.execute(
            """
            insert into partita.grants (app, partition, user_id, access, epoch, version, expires_at)
            values ($1, $2, $3, $4, 1, $5, clock_timestamp() + make_interval(secs => $6))
            on conflict (app, partition, user_id) do update
                set access = excluded.access, version = excluded.version, expires_at = excluded.expires_at
            """,
            [
                .text(app), .text(partition.text), .text(user), .text(access.rawValue), .int(version),
                lifetime.map { PostgresValue.double($0 / .seconds(1)) } ?? .null,
            ])
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        try await events.send(
            GrantsEvent.grant(
                Grant(
                    app: app, user: user, partition: partition, access: access,
                    version: Revision(epoch: 1, number: version), reason: "test",
                    expires: lifetime.map { now + Int64($0 / .milliseconds(1)) }, isFence: isFence, time: now)))
    }

    /// Denies as permissions does if there is no grant.
    func deny(_ user: String, _ partition: Partition, app: String = app) async throws {
        let denial = GrantsEvent.grant(
            Grant(
                app: app, user: user, partition: partition, access: .none, version: Revision(epoch: 1, number: 0),
                reason: "no rule allows it", time: 0))
        try await events.send(denial)
        try await events.remove(key: denial.key, from: GrantsEvent.topic)
    }

    /// Reports what happened to an account, as auth does: writes the row, then the event.
    func tell(_ kind: AuthEvent.Kind, of user: String, app: String = app) async throws {
        let table = ShutOutTable(postgres)
        switch kind {
        case .userDisabled: try await table.add(user, app: app, reason: .disabled)
        case .userDeleted: try await table.add(user, app: app, reason: .deleted)
        case .userEnabled: try await table.remove(user, app: app)
        default: break
        }
        try await events.send(
            AuthEvent(id: ObjectId().hexString, app: app, kind: kind, userID: user, user: [:], time: 0))
    }

    /// Ends a session as auth does: writes the row, then the event.
    func end(_ session: String, of user: String, app: String = app, isTold: Bool = true) async throws {
        let until = Int64(Date().timeIntervalSince1970 * 1000) + 600_000
        try await EndedSessionTable(postgres).add([EndedSession(app: app, id: session, until: until)])
        guard isTold else { return }
        try await events.send(
            AuthEvent(
                id: ObjectId().hexString, app: app, kind: .signedOut, userID: user, user: [:], session: session,
                accessUntil: until, time: 0))
    }

    /// The messages on a topic from now on.
    func received<Payload: EventPayload>(_ type: Payload.Type) async throws -> Locked<[Payload]> {
        let received = Locked<[Payload]>([])
        let tail = EventTail<Payload>(pool: events.pool, kafka: KafkaClient(configuration: kafka)) { events in
            for event in events {
                let payload = try event.decoded().payload
                received.withLock { $0.append(payload) }
            }
        }
        // Runs as long as the test process.
        Task { try await tail.run() }
        try await tail.waitUntilPositioned()
        return received
    }

    /// A partition for one test.
    func partition() -> Partition { Partition(text: "s:conversation=\(ObjectId().hexString)") }

    // MARK: Devices

    /// Deploys another app.
    func deploy(_ files: AppFiles) async throws {
        let deployed = try await AppRegistry(client: postgres).deploy(AppDefinition(files: files))
        try await AppRegistry.announce(deployed.app, with: events)
    }

    /// A device that has been welcomed.
    func device(
        _ user: String, id: String = ObjectId().hexString, app: String = app, session: String = "s",
        schemaVersion: Int64 = 0, readsCompact: Bool = false
    ) async throws -> Device {
        let device = try await Device(port: port, app: app)
        try await device.send(
            .hello(
                .init(
                    device: id, token: token(user, app: app, session: session), schemaVersion: schemaVersion,
                    readsCompact: readsCompact)))
        guard case .welcome = try await device.next() else { throw Device.Unexpected(what: "no welcome") }
        return device
    }
}
