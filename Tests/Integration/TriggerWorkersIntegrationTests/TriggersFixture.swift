import AccessTokens
import AppDefinition
import AppRegistry
import ChangeStream
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
import Redis
import Secrets
import ServiceBootstrap
import ServiceEngines
import SyncEngine
import TestSupport
import TriggerWorkers

/// Trigger workers in this process, on real engines, for all tests: apps keep them apart.
final class TriggersFixture: Sendable {
    let pool: String
    static let keySecret = "the current secret of the tests"
    static let formerKeySecret = "the former secret of the tests"
    let port: Int
    /// The configuration that the workers were started with.
    let values: [String: String]
    let postgres: PostgresClient
    let redis: RedisClient
    let store: DocumentStore
    let events: EventProducer
    let registry: AppRegistry
    private let key: TokenSigningKey
    private let failures: Locked<[TriggerFailure]>

    static func shared() async throws -> TriggersFixture { try await starter.fixture() }

    private static let starter = Starter()

    /// A worker with a pool of its own.
    static func single() async throws -> TriggersFixture { try await TriggersFixture(workers: 1) }

    /// Two workers that share the events of a pool of their own.
    static func pair() async throws -> TriggersFixture { try await TriggersFixture(workers: 2) }

    private actor Starter {
        private var started: Task<TriggersFixture, any Error>?

        func fixture() async throws -> TriggersFixture {
            let task = started ?? Task { try await TriggersFixture(workers: 1) }
            started = task
            return try await task.value
        }
    }

    private init(workers: Int) async throws {
        let engines = try await TestEngines.shared()
        let database = try await engines.makeDatabase()
        let pool = engines.makePool()
        self.pool = pool
        let values = [
            "http.address": "127.0.0.1", "http.port": "0", "loops": "1", "postgres.url": database,
            "redis.url": engines.redisURL, "kafka.pool": pool, "functions.hosts": "2", "presence.ttl": "500ms",
            "endpoints.caller-calls": "60", "endpoints.calls": "90", "triggers.loop-depth": "5",
            "triggers.loop-runs": "20",
            "egress.allow": "localhost",
            "watch.user-streams": "5", "watch.heartbeat": "1s", "watch.window": "1MiB",
            "encryption.keys": "\(Self.keySecret),\(Self.formerKeySecret)",
        ]
        self.values = values.merging(engines.kafkaSettings) { $1 }
        port = try await Self.serve(self.values)
        for _ in 1..<workers { _ = try await Self.serve(self.values) }
        let loops = LoopGroup(1)
        var configuration = PostgresConfiguration(url: database)
        configuration.connections = 4
        let postgres = PostgresClient(configuration: configuration, on: loops)
        let redis = RedisClient(configuration: try RedisConfiguration(url: engines.redisURL), on: loops)
        let kafka = engines.kafka
        let failures = Locked<[TriggerFailure]>([])
        let letters = EventTail<TriggerFailure>(pool: pool, kafka: KafkaClient(configuration: kafka)) { received in
            let decoded = try received.map { try $0.decoded().payload }
            failures.withLock { $0 += decoded }
        }
        let store = DocumentStore(client: postgres)
        let events = EventProducer(KafkaProducer(configuration: kafka, loop: loops.next()), pool: pool)
        let relay = OutboxRelay(store: store, producer: events, on: loops.next())
        // They run as long as the test process, which ends them by its exit.
        for service in [postgres, redis, letters, store, relay] as [any Service] { Task { try await service.run() } }
        try await letters.waitUntilPositioned()
        self.postgres = postgres
        self.redis = redis
        self.store = store
        self.events = events
        self.failures = failures
        registry = AppRegistry(client: postgres, keys: KeyRing([Self.keySecret, Self.formerKeySecret]))
        key = try TokenSigningKey(generatingWithId: "key-of-the-tests")
        try await events.send(
            SigningKeyEvent(keyID: key.id, jwk: key.publicKey.jwk, notBefore: 0, expires: .max / 2))
    }

    /// Runs the service; returns when it is ready.
    private static func serve(_ values: [String: String]) async throws -> Int {
        let configuration = try Configuration(keys: TriggerWorkersServer.main.allKeys, fileValues: values)
        let (ports, listening) = AsyncStream.makeStream(of: Int.self)
        Task {
            try await TriggerWorkersServer.main.run(
                configuration, registry: MetricsRegistry(), listening: { listening.yield($0) }
            ) { try TriggerWorkersServer.make(&$0) }
        }
        var iterator = ports.makeAsyncIterator()
        guard let port = await iterator.next() else { throw CancellationError() }
        try await eventually("the workers are ready", within: .seconds(60), every: .milliseconds(50)) {
            try await send("GET", port, "/health/ready").status == 200
        }
        return port
    }

    /// Deploys an app for a test, without announcing it.
    @discardableResult
    func deployUnannounced(_ app: TriggerApp) async throws -> DeployedApp {
        let definition = try AppDefinition(files: app.files)
        let deployed = try await registry.deploy(definition)
        store.define(AppStorage(definition))
        return deployed.app
    }

    /// Deploys an app for a test, and waits until the workers have it.
    func deploy(_ app: TriggerApp) async throws {
        try await AppRegistry.announce(try await deployUnannounced(app), with: events)
        try await eventually("the app is known", within: patience) {
            try await call("known", app: app.id, token: nil).status != 404
        }
    }

    /// The present time in milliseconds since 1970.
    static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }

    /// Reports what happened to an account, as auth does: writes the row, then the event.
    func tell(_ kind: AuthEvent.Kind, of user: String, app: TriggerApp) async throws {
        let table = ShutOutTable(postgres)
        switch kind {
        case .userDisabled: try await table.add(user, app: app.id, reason: .disabled)
        case .userDeleted: try await table.add(user, app: app.id, reason: .deleted)
        case .userEnabled: try await table.remove(user, app: app.id)
        default: break
        }
        try await events.send(
            AuthEvent(id: ObjectId().hexString, app: app.id, kind: kind, userID: user, user: [:], time: Self.now))
    }

    /// Ends a session as auth does: writes the row, then the event.
    func end(_ session: String, of user: String, app: TriggerApp) async throws {
        let until = Self.now + 600_000
        try await EndedSessionTable(postgres).add([EndedSession(app: app.id, id: session, until: until)])
        try await events.send(
            AuthEvent(
                id: ObjectId().hexString, app: app.id, kind: .sessionRevoked, userID: user, user: [:],
                session: session, accessUntil: until, time: Self.now))
    }

    // MARK: Looking

    /// The dead letters of an app, each once: the topic may have one twice, such as when a worker joins meanwhile.
    func deadLetters(of app: TriggerApp) -> [TriggerFailure] {
        var known: Set<[String]> = []
        return failures.withLock { failures in
            failures.filter { $0.app == app.id && known.insert([$0.trigger, $0.failedEvent]).inserted }
        }
    }

    func journalRows(of app: TriggerApp) async throws -> Int64 {
        try await postgres.query("select count(*) from partita.trigger_journal where app = $1", [.text(app.id)])
            .first?.decode(0) ?? 0
    }

    /// The change of a document that the store recorded last.
    func lastChange(of app: TriggerApp, collection: String) async throws -> DocumentChangesEvent? {
        let rows = try await postgres.query(
            """
            select partition, epoch, revision from partita.changes where app = $1 and collection = $2
            order by epoch desc, revision desc limit 1
            """, [.text(app.id), .text(collection)])
        guard let (partition, epoch, number) = try rows.first?.decode((String, Int32, Int64).self) else { return nil }
        let change = try await ChangeHistory(client: postgres).change(
            app: app.id, partition: Partition(text: partition), revision: Revision(epoch: epoch, number: number))
        return change.map { .change($0) }
    }

    /// The id of the first change of a collection.
    func firstChange(of app: TriggerApp, collection: String) async throws -> String? {
        try await postgres.query(
            """
            select app || '/' || partition || '/' || epoch || '.' || revision from partita.changes
            where app = $1 and collection = $2 order by wall_time limit 1
            """, [.text(app.id), .text(collection)]
        ).decode(String.self).first
    }

    // MARK: Calling

    func token(
        _ app: TriggerApp, user: String = "ann", session: String = "s", lifetime: Int64 = 600
    ) throws -> String {
        let now = Int64(Date().timeIntervalSince1970)
        return try key.sign(
            TokenClaims(
                session: session, user: user, device: "d", app: app.id, type: .access, issuedAt: now - 1200,
                expiresAt: now + lifetime))
    }

    /// Calls a function over HTTP.
    func call(_ function: String, _ arguments: String = "[]", app: String, token: String?) async throws -> (
        status: Int, text: String
    ) {
        try await Self.send(
            "POST", port, "/api/client/v2.0/app/\(app)/functions/call", token: token,
            body: "{\"name\": \"\(function)\", \"arguments\": \(arguments)}")
    }

    func post(_ body: String, app: String, token: String?) async throws -> (status: Int, text: String) {
        try await Self.send("POST", port, "/api/client/v2.0/app/\(app)/functions/call", token: token, body: body)
    }

    /// Calls an HTTPS endpoint.
    func request(
        _ method: String, _ target: String, app: TriggerApp, headers: [String: String] = [:], body: [UInt8]? = nil
    ) async throws -> (status: Int, body: [UInt8], headers: HTTPURLResponse) {
        let text = "http://127.0.0.1:\(port)/app/\(app.id)/endpoint\(target)"
        guard let url = URL(string: text) else { throw URLError(.badURL) }
        var request = URLRequest(url: url)
        request.httpMethod = method
        request.httpBody = body.map { Data($0) }
        for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
        let (data, response) = try await URLSession.shared.data(for: request)
        guard let answer = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
        return (answer.statusCode, Array(data), answer)
    }

    private static func send(
        _ method: String, _ port: Int, _ path: String, token: String? = nil, body: String? = nil
    ) async throws -> (status: Int, text: String) {
        guard let url = URL(string: "http://127.0.0.1:\(port)\(path)") else { throw URLError(.badURL) }
        var request = URLRequest(url: url)
        request.httpMethod = method
        request.httpBody = body.map { Data($0.utf8) }
        if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
        let (data, response) = try await URLSession.shared.data(for: request)
        return ((response as? HTTPURLResponse)?.statusCode ?? 0, String(decoding: data, as: UTF8.self))
    }
}
