import AppRegistry
import DocumentModel
import DocumentStore
import Logging
import RealmSync
import RealmTestClient
import SyncEngine
import TestSupport
import Testing

@testable import SyncGateway

/// What one upload may cost, with limits that are smaller than a gateway's.
@Suite struct RealmLimitTests {
    /// A partition with one client, and a gateway of its own for it, which isn't asked by sockets.
    private final class World {
        let fixture: GatewayFixture
        let partition: Partition
        let ann: RealmClient
        private let apps: AppDirectory
        private let loading: Task<Void, any Error>

        init() async throws {
            fixture = try await GatewayFixture.shared()
            partition = fixture.partition()
            try await fixture.grant(.write, to: "ann", in: partition)
            ann = RealmClient("ann", in: partition, of: fixture)
            apps = AppDirectory(
                registry: AppRegistry(client: fixture.postgres), logger: Logger(label: "realm-limits"))
            loading = Task { [apps] in try await apps.run() }
            try await apps.refresh()
            try await ann.open()
        }

        deinit { loading.cancel() }

        func history(_ store: DocumentStore? = nil) -> RealmHistory {
            RealmHub(
                store: store ?? fixture.store, apps: apps, on: GatewayFixture.loops.next(),
                logger: Logger(label: "realm-limits")
            ).history(of: PartitionKey(app: GatewayFixture.app, partition: partition))
        }

        func key(_ number: Int) -> ObjectKey {
            ObjectKey(table: "ChatMessage", id: .string(ExactText("\(partition.text)/\(number)")))
        }

        func message(_ bytes: Int) -> Document {
            [
                "partition": .string(String(partition.text.dropFirst(2))), "timestamp": .date(1000),
                "text": .string(String(repeating: "x", count: bytes)),
            ]
        }

        /// What the client has not been told to be integrated.
        func upload() throws -> RealmUpload {
            let file = try #require(ann.file)
            return RealmUpload(
                changesets: ann.pending, scanned: Int64(ann.version), reached: Int64(ann.downloaded.server),
                acknowledged: Int64(ann.acknowledged), file: Int64(file.ident), salt: Int64(file.salt), user: "ann",
                position: HistoryPosition(version: Int64(ann.downloaded.server), salt: nil),
                former: Int64(ann.acknowledged), mayWrite: true)
        }

        /// The client comes back, and is told what became of its upload.
        func goOn() async throws {
            try await ann.connect()
            try await ann.begin()
            try await ann.upload()
            try await ann.catchUp()
        }

        func documents() async throws -> Int {
            try await fixture.store.collection("ChatMessage", database: "RChat", app: GatewayFixture.app)
                .countDocuments(["partition": .string(String(partition.text.dropFirst(2)))])
        }
    }

    @Test func `what is too large for one transaction is committed in several, or undone if it is one write`()
        async throws
    {
        let world = try await World(), ann = world.ann
        let store = DocumentStore(client: world.fixture.postgres, maximumTransactionBytes: 100_000)
        store.define(try world.fixture.store.storage(of: GatewayFixture.app))
        ann.cut()
        for number in 0..<10 { try ann.write((world.key(number), world.message(20_000))) }
        try ann.write((world.key(10), world.message(200_000)))
        try ann.write((world.key(11), world.message(10)))
        let integration = try await world.history(store).integrate(try world.upload())
        #expect(integration.failure == nil)
        #expect(integration.clientVersion == Int64(ann.version))
        #expect(try await world.documents() == 11)
        try await world.goOn()
        #expect(ann.errors.map(\.numbers.first) == [231])
        #expect(ann.objects.objects[world.key(10)] == nil)
        #expect(ann.objects.objects.count == 11)
    }
}
