import DocumentModel
import DocumentStore
import RealmSync
import RealmTestClient
import SyncEngine
import Testing
import Vectors

/// What a client with realm-core has uploaded, recorded elsewhere.
@Suite struct RealmReplayTests {
    @Test(arguments: [
        "first-open", "crud", "lists", "embedded", "defaults-and-deletes", "counters", "offline-resend",
    ])
    func `what a real client has uploaded becomes documents`(scenario: String) async throws {
        let fixture = try await GatewayFixture.shared()
        // Scenarios have objects with the same keys.
        let app = "chatapp-\(scenario)"
        try await RecordedApp.deploy(app, to: fixture)
        let partition = fixture.partition()
        try await fixture.grant(.write, to: "ann", in: partition, app: app)
        let ann = RealmClient("ann", in: partition, of: fixture, app: app)
        try await RecordedApp.open(ann)
        var seen: Set<Int64> = []
        for upload in try RecordedClient.uploads(in: scenario)
        where seen.insert(upload.integer("client_version")).inserted {
            try ann.apply(try RealmSync.Changeset(upload.bytes("changeset")))
            try await ann.upload()
        }
        try await ann.catchUp()
        #expect(ann.errors.isEmpty, "\(ann.errors.map { ExtendedJSON.print($0.json) })")

        let other = RealmClient("ann", in: partition, of: fixture, app: app)
        try await other.open()
        #expect(other.objects.isSame(as: ann.objects), "\(scenario)")
        var documents: [ObjectKey: Document] = [:]
        for name in ["Box", "Item", "Person"] {
            let collection = fixture.store.collection(name, database: "chat", app: app)
            for document in try await collection.find(["_partition": partition.value ?? .null]) {
                let (key, object) = try ann.objects.schema.object(of: document, table: name)
                documents[key] = object
            }
        }
        #expect(PartitionObjects(schema: ann.objects.schema, objects: documents).isSame(as: ann.objects), "\(scenario)")
    }
}
