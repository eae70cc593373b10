import DocumentModel
import DocumentStore
import Foundation
import SyncEngine
import SyncProtocol
import TestSupport
import Testing

/// What applies if a collection has a partition, data rules, or both: for devices the partition's permissions, for other callers
/// the data rules. Devices know no collection whose schema lacks the partition key.
@Suite struct SyncedCollectionTests {
    private static let allows = #"{"roles": [{"name": "all", "apply_when": {}, "read": true, "write": true}]}"#
    private static let forbids = #"{"roles": [{"name": "none", "apply_when": {}, "read": false, "write": false}]}"#
    private static let synced = #"{"title": "T", "bsonType": "object", "properties": {"team": {"bsonType": "string"}}}"#
    /// The key is a property of an embedded document only.
    private static let unsynced = """
        {"title": "T", "bsonType": "object",
         "properties": {"inner": {"bsonType": "object", "properties": {"team": {"bsonType": "string"}}}}}
        """

    private static let collections: [(name: String, isSynced: Bool, isAllowed: Bool)] = [
        ("SyncedOpen", true, true), ("SyncedClosed", true, false), ("ServerOpen", false, true),
        ("ServerClosed", false, false), ("NoSchemaOpen", false, true), ("NoSchemaClosed", false, false),
    ]

    private static let client = Task { try await deployed() }

    private static func deployed() async throws -> DataAPIClient {
        var files: [String: String] = [:]
        for collection in collections {
            files["Test/\(collection.name)/rules"] = collection.isAllowed ? allows : forbids
            if collection.name.hasPrefix("NoSchema") { continue }
            files["Test/\(collection.name)/schema"] = collection.isSynced ? synced : unsynced
        }
        // The same name in another database is another collection.
        files["Other/SyncedOpen/rules"] = allows
        files["Other/SyncedOpen/schema"] = synced
        return try await GatewayFixture.shared().deploy(
            "synced-" + ObjectId().hexString, rules: files,
            more: [
                "sync/config.json": """
                {"state": "enabled", "service_name": "mongodb-atlas", "database_name": "Test",
                 "partition": {"key": "team", "type": "string", "required": false,
                               "permissions": {"read": true, "write": true}}}
                """
            ])
    }

    private func insert(_ id: String, into collection: String, team: String) -> SyncEngine.Operation {
        .init(
            collection: collection, id: .string(id), kind: .insert(["_id": .string(id), "team": .string(team)]))
    }

    private func upload(_ version: Int64, _ operation: SyncEngine.Operation, in partition: Partition) -> DeviceFrame {
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        return .upload(
            .init(
                partition: partition, sentAt: now,
                changesets: [
                    Changeset(version: version, clock: HybridTime(milliseconds: now), operations: [operation])
                ]))
    }

    @Test(arguments: collections)
    func `for a device the partition's rights apply, and collections without it don't exist`(
        collection: (name: String, isSynced: Bool, isAllowed: Bool)
    ) async throws {
        let client = try await Self.client.value, fixture = client.fixture
        let team = ObjectId().hexString
        let partition = Partition(text: "s:" + team)
        try await fixture.grant(.write, to: "ann", in: partition, app: client.app)
        let device = try await fixture.device("ann", app: client.app)
        _ = try await device.open(partition)
        try await device.send(upload(1, insert(team, into: collection.name, team: team), in: partition))
        switch try await device.answer() {
        case .ack: #expect(collection.isSynced, "\(collection.name) took a device's write")
        case .rejected(let rejection):
            #expect(!collection.isSynced, "\(collection.name): \(rejection.reason)")
            #expect(rejection.reason.code == .unknownCollection)
            #expect(rejection.reason.reason.contains("not synced"), "\(rejection.reason)")
        case let other: Issue.record("\(other)")
        }
        let stored = fixture.store.collection(collection.name, database: "Test", app: client.app)
        #expect(try await stored.countDocuments(["_id": .string(team)]) == (collection.isSynced ? 1 : 0))

        try await fixture.grant(.read, to: "bob", in: partition, app: client.app)
        let reader = try await fixture.device("bob", app: client.app)
        _ = try await reader.open(partition)
        try await reader.send(upload(1, insert(team + "2", into: collection.name, team: team), in: partition))
        guard case .rejected = try await reader.answer() else {
            Issue.record("who may only read the partition wrote")
            return
        }
    }

    @Test(arguments: collections)
    func `for the data API the rules apply, whether a collection syncs or not`(
        collection: (name: String, isSynced: Bool, isAllowed: Bool)
    ) async throws {
        let client = try await Self.client.value
        let id = ObjectId().hexString
        // The partition is granted to no user.
        let document: Document = ["_id": .string(id), "team": .string("nobody-" + id)]
        let written = try await client.call("insertOne", collection.name, ["document": .document(document)])
        let found = try await client.call("count", collection.name, ["filter": ["_id": .string(id)]])
        if collection.isAllowed {
            #expect(written.status == 201, "\(written.text)")
            #expect(found.body["count"]?.intValue == 1)
        } else {
            #expect(written.code == "NoMatchingRuleFound", "\(written.text)")
            #expect(found.body["count"]?.intValue == 0)
        }
    }

    @Test func `a document in a partition that no device could open is refused`() async throws {
        let client = try await Self.client.value
        for team in ["a\u{0}", String(repeating: "x", count: 1100)] {
            let document: Document = ["_id": .string(ObjectId().hexString), "team": .string(team)]
            let written = try await client.call("insertOne", "SyncedOpen", ["document": .document(document)])
            #expect(written.status == 400 && written.code == "SchemaValidationFailedWrite", "\(written.text)")
            // In a collection that doesn't sync it is an ordinary field.
            #expect(try await client.call("insertOne", "NoSchemaOpen", ["document": .document(document)]).status == 201)
        }
    }

    @Test func `devices get nothing of a collection that doesn't sync, from any writer`() async throws {
        let client = try await Self.client.value, fixture = client.fixture
        let team = ObjectId().hexString
        let partition = Partition(text: "s:" + team)
        try await fixture.grant(.write, to: "ann", in: partition, app: client.app)
        let live = try await fixture.device("ann", app: client.app)
        _ = try await live.open(partition)
        for (name, database) in [
            ("ServerOpen", "Test"), ("NoSchemaOpen", "Test"), ("SyncedOpen", "Other"), ("SyncedOpen", "Test"),
        ] {
            let collection = fixture.store.collection(name, database: database, app: client.app)
            let id = "library-" + team
            try await collection.insertOne(["_id": .string(id), "team": .string(team)])
            _ = try await collection.updateOne(["_id": .string(id)], .document(["$set": ["n": 1]]))
            try await fixture.postgres.execute(
                "insert into \"\(client.app)/\(database)\".\"\(name)\" (document) values ($1)",
                [.text(#"{"_id": "hand-\#(team)", "team": "\#(team)"}"#)])
            try await fixture.postgres.execute(
                "delete from \"\(client.app)/\(database)\".\"\(name)\" where _id = $1", [.text("s:library-" + team)])
        }
        let rows = try await fixture.postgres.query(
            "select distinct database || '.' || collection from partita.changes where app = $1 and partition = $2",
            [.text(client.app), .text(partition.text)])
        #expect(try rows.map { try $0.decode(0, as: String.self) } == ["Test.SyncedOpen"])

        var received: Set<String> = []
        while !received.contains("s:hand-" + team) {
            for change in try await live.download().changes {
                #expect(change.collection == "SyncedOpen")
                received.insert(change.key?.idText ?? "")
            }
        }
        let later = try await fixture.device("ann", app: client.app)
        let caughtUp = try await later.open(partition).chunks.flatMap(\.changes)
        #expect(!caughtUp.isEmpty)
        #expect(caughtUp.allSatisfy { $0.collection == "SyncedOpen" })
    }
}
