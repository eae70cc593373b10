import AppRegistry
import DocumentModel
import DocumentStore
import Logging
import Postgres
import RealmClientModel
import RealmSync
import RealmTestClient
import SyncEngine
import TestSupport

@testable import SyncGateway

/// Realm clients on two gateways, and a server that writes documents, who do what a seed says: changes of all kinds, cuts at any time, new
/// clients, snapshots and trimming.
final class RealmWorld {
    private let fixture: GatewayFixture
    private let ports: [Int]
    private let app: String
    private let hub: RealmHub
    /// Keeps the apps up to date that the hub knows.
    private let loading: Task<Void, any Error>
    private let partition: Partition
    private var random: SeededGenerator
    private var clients: [RealmClient] = []
    /// What all have added to the counter, the server as well.
    private var added: Int64 = 0
    private let edits: RandomEdits

    init(_ fixture: GatewayFixture, ports: [Int], app: String, seed: UInt64) async throws {
        self.fixture = fixture
        self.ports = ports
        self.app = app
        random = SeededGenerator(seed: seed)
        partition = Partition(text: "s:\(ObjectId().hexString)")
        // Boxes have numbers, which are the same in all partitions of an app.
        let boxes = partition.text.utf8.reduce(0) { ($0 &* 31 &+ Int64($1)) & 0x3FF_FFFF } << 4
        edits = RandomEdits(visits: "visits \(partition.text)", boxes: boxes)
        let logger = Logger(label: "realm-world")
        let apps = AppDirectory(registry: AppRegistry(client: fixture.postgres), logger: logger)
        loading = Task { try await apps.run() }
        hub = RealmHub(store: fixture.store, apps: apps, on: GatewayFixture.loops.next(), logger: logger)
        for user in Self.users { try await fixture.grant(.write, to: user, in: partition, app: app) }
        for _ in Self.users { try await addClient() }
        try clients[0].write((edits.visits, ["visits": .int64(0)]))
        try await clients[0].upload()
        for client in clients { try await client.catchUp() }
    }

    deinit { loading.cancel() }

    private static let users = ["ann", "bob", "cem"]

    private func addClient() async throws {
        let client = RealmClient(Self.users[clients.count % 3], in: partition, of: fixture, app: app)
        client.port = pick(ports)
        try await client.open()
        clients.append(client)
    }

    private func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &random) }
    private func pick<T>(_ values: [T]) -> T { values[number(0..<values.count)] }

    // MARK: What happens

    func run(steps: Int) async throws {
        for _ in 0..<steps {
            let client = pick(clients)
            switch number(0..<20) {
            case 0...8: try change(client)
            case 9, 10: client.sendPending()
            // At the same time, so that gateways integrate them together.
            case 11: for client in clients { client.sendPending() }
            case 12: try await client.upload()
            case 13: try await client.catchUp()
            case 14: try await reconnect(client)
            case 15, 16: try await writeDocument()
            case 17: if clients.count < 6 { try await addClient() }
            case 18: try await makeSnapshot()
            default:
                try await RealmRetention(
                    hub: hub, tables: RealmTables(client: fixture.postgres), offline: .seconds(3600),
                    logger: Logger(label: "realm-world")
                ).sweep()
            }
        }
    }

    private func reconnect(_ client: RealmClient) async throws {
        client.cut()
        client.port = pick(ports)
        try await client.connect()
        try await client.begin()
        client.sendPending()
    }

    private func makeSnapshot() async throws {
        let history = hub.history(of: PartitionKey(app: app, partition: partition))
        do { try await history.makeSnapshot() } catch let error as PostgresError where error.isUniqueViolation {}
    }

    private func change(_ client: RealmClient) throws {
        added += try client.edit { try edits.change(&$0, &random) }
    }

    private func writeDocument() async throws {
        if number(0..<3) == 0 {
            let n = Int64(number(0..<1000))
            added += n
            _ = try await collection("Person").updateOne(
                ["_id": edits.visits.id.value], ["$inc": ["visits": .int64(n)]])
            return
        }
        let boxes = collection("Box"), id = edits.box(&random).id.value
        let partition: Value = .string(String(partition.text.dropFirst(2)))
        guard try await boxes.findOne(["_id": id]) != nil else {
            // A client may be faster.
            do { _ = try await boxes.insertOne(["_id": id, "_partition": partition, "li": [7]]) } catch {}
            return
        }
        switch number(0..<4) {
        case 0: _ = try await boxes.deleteOne(["_id": id])
        case 1: _ = try await boxes.updateOne(["_id": id], ["$set": ["li": [.int32(Int32(number(0..<100))), 5]]])
        case 2: _ = try await boxes.updateOne(["_id": id], ["$set": ["di.server": .int32(Int32(number(0..<100)))]])
        default: _ = try await boxes.updateOne(["_id": id], ["$push": ["ls": "by the server"]])
        }
    }

    private func collection(_ name: String) -> DocumentCollection {
        fixture.store.collection(name, database: "chat", app: app)
    }

    // MARK: What holds

    /// What is wrong when all have sent and received everything.
    func violations() async throws -> [String] {
        for client in clients {
            client.sendPending()
            try await client.upload()
        }
        for client in clients { try await client.catchUp() }
        var violations: [String] = []
        for client in clients {
            for error in client.errors { violations.append("an error: \(error.json)") }
            if !client.objects.isSame(as: clients[0].objects) {
                violations.append("clients differ: \(client.objects.objects), \(clients[0].objects.objects)")
            }
        }
        if clients[0].objects.objects[edits.visits]?["visits"]?.int64Value ?? 0 != added {
            violations.append("of \(added) the counter has \(clients[0].objects.objects[edits.visits] ?? [:])")
        }
        let schema = clients[0].objects.schema
        var documents = PartitionObjects(schema: schema)
        for (key, _) in clients[0].objects.objects {
            guard let document = try await collection(key.table).findOne(["_id": key.id.value]) else { continue }
            documents.objects[key] = try schema.object(of: document, table: key.table).object
        }
        if !documents.isSame(as: clients[0].objects) {
            violations.append("the documents differ: \(documents.objects), \(clients[0].objects.objects)")
        }
        let count = try await collection("Box").countDocuments([
            "_partition": .string(String(partition.text.dropFirst(2)))
        ])
        if count != clients[0].objects.objects.count - 1 { violations.append("there are \(count) documents") }
        for client in clients { client.cut() }
        return violations
    }
}
