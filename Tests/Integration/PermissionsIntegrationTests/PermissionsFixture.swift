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
import Metrics
import Permissions
import Postgres
import ServiceBootstrap
import ServiceEngines
import SyncEngine
import TestSupport

/// Permissions in this process, on real engines, for all tests: users and partitions keep them apart.
final class PermissionsFixture: Sendable {
    static let app = "permissions-test"

    let postgres: PostgresClient
    let store: DocumentStore
    let events: EventProducer
    private let registry: AppRegistry
    private let settings: [String: String]
    private let grants: Locked<[Grant]>
    /// The keys without a value in the topic, by the last message of each.
    private let removed: Locked<Set<String>>
    private let receipts: Locked<[RevocationReceipt]>

    static func shared() async throws -> PermissionsFixture { try await starter.fixture() }

    /// A fixture for tests that deploy, since all answers are then decided again.
    static func own() async throws -> PermissionsFixture { try await PermissionsFixture() }

    private static let starter = Starter()

    private actor Starter {
        private var started: Task<PermissionsFixture, any Error>?

        func fixture() async throws -> PermissionsFixture {
            let task = started ?? Task { try await PermissionsFixture() }
            started = task
            return try await task.value
        }
    }

    private init() async throws {
        let engines = try await TestEngines.shared()
        let database = try await engines.makeDatabase()
        let pool = engines.makePool()
        let loops = LoopGroup(1)
        var configuration = PostgresConfiguration(url: database)
        configuration.connections = 4
        let postgres = PostgresClient(configuration: configuration, on: loops)
        let kafka = engines.kafka
        let events = EventProducer(KafkaProducer(configuration: kafka, loop: loops.next()), pool: pool)
        let store = DocumentStore(client: postgres)
        let grants = Locked<[Grant]>([]), removed = Locked<Set<String>>([])
        let tail = EventTail<GrantsEvent>(pool: pool, kafka: KafkaClient(configuration: kafka)) { received in
            for event in received {
                guard event.message.value != nil else {
                    removed.withLock { _ = $0.insert(event.key) }
                    continue
                }
                removed.withLock { _ = $0.remove(event.key) }
                if case .grant(let grant) = try event.decoded().payload { grants.withLock { $0.append(grant) } }
            }
        }
        let relay = OutboxRelay(store: store, producer: events, on: loops.next())
        // They run as long as the test process, which ends them by its exit.
        Task { try await postgres.run() }
        let registry = AppRegistry(client: postgres)
        let definition = try AppDefinition(files: Self.files)
        try await registry.migrate()
        try await registry.deploy(definition)
        store.define(AppStorage(definition))
        let values = [
            "http.address": "127.0.0.1", "http.port": "0", "loops": "1", "postgres.url": database,
            "kafka.pool": pool, "functions.hosts": "2", "heartbeat.interval": "250ms",
            "lease.duration": "1s",
        ]
        let settings = values.merging(engines.kafkaSettings) { $1 }
        try await Self.serve(settings)
        let receipts = Locked<[RevocationReceipt]>([])
        let receiptTail = EventTail<RevocationReceipt>(
            pool: pool, kafka: KafkaClient(configuration: kafka)
        ) { received in
            for event in received {
                let receipt = try event.decoded().payload
                receipts.withLock { $0.append(receipt) }
            }
        }
        for service in [store, relay, tail, receiptTail] as [any Service] { Task { try await service.run() } }
        try await tail.waitUntilPositioned()
        try await receiptTail.waitUntilPositioned()
        self.receipts = receipts
        self.postgres = postgres
        self.store = store
        self.events = events
        self.registry = registry
        self.settings = settings
        self.grants = grants
        self.removed = removed
    }

    /// Runs one more instance of the service; returns when it is ready.
    func serveAnother() async throws { try await Self.serve(settings) }

    /// Deploys the app with another text of a function.
    /// - Returns: the version.
    func deploy(
        function name: String, as text: String, adding more: [String: String] = [:]
    ) async throws -> Int64 {
        var files = Self.files
        files.texts["functions/\(name).js"] = text
        for (file, text) in more { files.texts[file] = text }
        return try await registry.deploy(try AppDefinition(files: files)).app.version
    }

    /// Runs the service; returns when it is ready.
    private static func serve(_ values: [String: String]) async throws {
        let configuration = try Configuration(keys: PermissionsServer.main.allKeys, fileValues: values)
        let (ports, listening) = AsyncStream.makeStream(of: Int.self)
        Task {
            try await PermissionsServer.main.run(
                configuration, registry: MetricsRegistry(), listening: { listening.yield($0) }
            ) { try PermissionsServer.make(&$0) }
        }
        var iterator = ports.makeAsyncIterator()
        guard let port = await iterator.next(), let url = URL(string: "http://127.0.0.1:\(port)/health/ready") else {
            throw CancellationError()
        }
        try await eventually("permissions is ready", within: .seconds(60), every: .milliseconds(50)) {
            (try await URLSession.shared.data(from: url).1 as? HTTPURLResponse)?.statusCode == 200
        }
    }

    /// Members of a room read and write it, as their document says; "broken" rooms have a rule that throws.
    static let files: AppFiles = [
        "realm_config.json": """
        {"config_version": 20210101, "app_id": "\(app)", "name": "Test", "location": "DE-FF", "deployment_model": "LOCAL"}
        """,
        "data_sources/mongodb-atlas/config.json": """
        {"name": "mongodb-atlas", "type": "mongodb-atlas", "config": {"clusterName": "Test"}, "version": 1}
        """,
        "auth/custom_user_data.json": """
        {"enabled": true, "mongo_service_name": "mongodb-atlas", "database_name": "Test", "collection_name": "Custom",
         "user_id_field": "user"}
        """,
        "sync/config.json": """
        {"state": "enabled", "service_name": "mongodb-atlas", "database_name": "Test",
         "partition": {"key": "partition", "type": "string", "required": true, "permissions": {
           "read": {"%%true": {"%function": {"name": "mayRead", "arguments": ["%%partition"]}}},
           "write": {"%%true": {"%function": {"name": "mayWrite", "arguments": ["%%partition"]}}}}}}
        """,
        "functions/config.json": """
        [{"name": "mayRead", "private": true, "run_as_system": true},
         {"name": "mayWrite", "private": true, "run_as_system": true}]
        """,
        "functions/mayRead.js": """
        exports = async function (partition) {
            if (partition !== "trial") { return partition === "news"; }
            const members = context.services.get("mongodb-atlas").db("Test").collection("Member");
            return await members.findOne({_id: context.user.id, $expr: {$gt: ["$until", "$$NOW"]}}) !== null;
        };
        """,
        "functions/mayWrite.js": """
        exports = async function (partition) {
            if (partition.startsWith("broken")) { throw new Error("no rule for this"); }
            if (partition.startsWith("team-")) { return context.user.custom_data.team === partition; }
            const db = context.services.get("mongodb-atlas").db("Test");
            if (partition === "vault") { return await db.collection("Vault").findOne({_id: context.user.id}) !== null; }
            const members = db.collection("Member");
            if (partition === "club") {
                const found = await members.aggregate([
                    {$match: {_id: context.user.id}}, {$facet: {all: [
                        {$lookup: {from: "Card", localField: "_id", foreignField: "member", as: "cards"}}]}}]).toArray();
                return found[0].all[0].cards.length > 0;
            }
            if (partition === "lodge") {
                return await members.findOne({nick: context.user.id}, {}, {collation: {locale: "en", strength: 2}}) !== null;
            }
            const member = await members.findOne({_id: context.user.id});
            return member !== null && member.rooms.includes(partition);
        };
        """,
    ]

    var members: DocumentCollection { store.collection("Member", database: "Test", app: Self.app) }
    var cards: DocumentCollection { store.collection("Card", database: "Test", app: Self.app) }

    func ask(_ user: String, _ partition: String) async throws {
        try await events.send(
            PermissionRequest(
                id: ObjectId().hexString, app: Self.app, user: user, partition: Partition(text: "s:" + partition),
                claims: ["id": .string(user), "type": "normal"], requester: "test",
                time: Int64(Date().timeIntervalSince1970 * 1000)))
    }

    /// Reports what happened to an account, as auth does: writes the row, then the event.
    func tell(_ kind: AuthEvent.Kind, of user: String) async throws {
        let table = ShutOutTable(postgres)
        switch kind {
        case .userDisabled: try await table.add(user, app: Self.app, reason: .disabled)
        case .userDeleted: try await table.add(user, app: Self.app, reason: .deleted)
        case .userEnabled: try await table.remove(user, app: Self.app)
        default: break
        }
        try await events.send(
            AuthEvent(id: ObjectId().hexString, app: Self.app, kind: kind, userID: user, user: [:], time: 0))
    }

    /// The newest grant on the topic, once it has this access.
    func grant(_ access: Grant.Access, of user: String, _ partition: String) async throws -> Grant {
        try await eventually("\(access) of \(user) in \(partition)", within: patience) {
            newestGrant(of: user, partition).flatMap { $0.access == access ? $0 : nil }
        }
    }

    /// The grant that revokes a right. The same denial may follow once more, if a change is delivered twice.
    func revocation(of user: String, _ partition: String) async throws -> Grant {
        try await eventually("\(user) loses \(partition)", within: patience) {
            grants.withLock { grants in
                grants.first { $0.user == user && $0.partition.text == "s:" + partition && $0.isFence }
            }
        }
    }

    /// The newest grant on the topic.
    func newestGrant(of user: String, _ partition: String) -> Grant? {
        grants.withLock { grants in
            // Of answers without a grant, which all have number 0, the last.
            grants.reversed().filter { $0.user == user && $0.partition.text == "s:" + partition }
                .max { $0.version < $1.version }
        }
    }

    /// How many answers there were about partitions whose names begin with this prefix.
    func answers(about prefix: String) -> Int {
        grants.withLock { $0.count { $0.partition.text.hasPrefix("s:" + prefix) } }
    }

    /// Whether the topic, once it is compacted, has nothing about a user and a partition.
    func isForgotten(_ user: String, _ partition: String) -> Bool {
        let key = GrantsEvent.key(app: Self.app, user: user, partition: Partition(text: "s:" + partition))
        return removed.withLock { $0.contains(key) }
    }

    /// How many rows there are about a user, in all tables.
    func rowCount(of user: String) async throws -> Int64 {
        let tables = ["grants", "grant_subjects", "grant_dependencies", "grant_outbox", "fences"]
        let counts = tables.map { "(select count(*) from partita.\($0) where user_id = $1)" }.joined(separator: " + ")
        return try await postgres.query("select \(counts)", [.text(user)]).decode(Int64.self).first ?? 0
    }

    /// The receipt of a revocation.
    func receipt(of user: String, _ partition: String) async throws -> RevocationReceipt {
        try await eventually("the receipt of \(user) in \(partition)", within: patience) {
            receipts.withLock { $0.first { $0.user == user && $0.partition.text == "s:" + partition } }
        }
    }

    func hasReceipt(of user: String, _ partition: String) -> Bool {
        receipts.withLock { $0.contains { $0.user == user && $0.partition.text == "s:" + partition } }
    }

    /// The access in the table.
    func row(of user: String, _ partition: String) async throws -> String? {
        try await postgres.query(
            "select access from partita.grants where app = $1 and user_id = $2 and partition = $3",
            [.text(Self.app), .text(user), .text("s:" + partition)]
        ).first?.decode(0)
    }

    func outboxCount(of user: String) async throws -> Int64 {
        try await postgres.query("select count(*) from partita.grant_outbox where user_id = $1", [.text(user)])
            .first?.decode(0) ?? 0
    }
}
