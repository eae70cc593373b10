import DocumentModel
import DocumentStore
import RealmSync
import RealmTestClient
import SyncEngine
import TestSupport
import Testing

/// What becomes of Realm clients when their app is deployed anew.
@Suite struct RealmDeploymentTests {
    @Test func `a collection that doesn't sync has no class, and no client writes to it`() async throws {
        let fixture = try await GatewayFixture.shared()
        let app = "memberships", partition = fixture.partition()
        // The partition key is missing in the schema: only the server may write these documents.
        let folder = "data_sources/mongodb-atlas/chat/Membership"
        try await RecordedApp.deploy(
            app, to: fixture,
            more: [
                "\(folder)/schema.json": """
                {"title": "Membership", "bsonType": "object", "required": ["_id"],
                 "properties": {"_id": {"bsonType": "string"}, "role": {"bsonType": "string"}}}
                """, "\(folder)/rules.json": #"{"database": "chat", "collection": "Membership", "roles": []}"#,
            ])
        try await fixture.grant(.write, to: "ann", in: partition, app: app)
        let ann = RealmClient("ann", in: partition, of: fixture, app: app)
        try await RecordedApp.open(ann)
        #expect(ann.objects.schema.classes["Membership"] == nil)
        var schema = ObjectSchema()
        schema.classes["Membership"] = .init(key: .init(name: "_id", type: .string, isNullable: false))
        schema.classes["Membership"]?.properties["role"] = .init(type: .string, isNullable: true)
        try ann.apply(schema.changeset())
        try ann.write((ObjectKey(table: "Membership", id: .string("ann")), ["role": "admin"]))
        ann.sendPending()
        try await ann.receive { !$0.errors.isEmpty || $0.pending.isEmpty }
        let memberships = fixture.store.collection("Membership", database: "chat", app: app)
        #expect(try await memberships.find([:]).isEmpty)
        #expect(ann.errors.first?.numbers.first == 225)
        #expect(ann.errors.first?.json["message"]?.stringValue?.contains("Membership") ?? false)
    }

    @Test func `a collection that stops to sync takes its objects away, and brings them back when it syncs again`()
        async throws
    {
        let fixture = try await GatewayFixture.shared()
        let app = "comesandgoes", partition = fixture.partition()
        try await RecordedApp.deploy(app, to: fixture)
        try await fixture.grant(.write, to: "ann", in: partition, app: app)
        let ann = RealmClient("ann", in: partition, of: fixture, app: app)
        try await RecordedApp.open(ann)
        let box = ObjectKey(table: "Box", id: .int(1)), person = ObjectKey(table: "Person", id: .string("p"))
        try ann.write((box, ["li": [1]]), (person, ["visits": 1]))
        try await ann.upload()

        // The schema of Box loses the partition key.
        let boxes = fixture.store.collection("Box", database: "chat", app: app)
        let schema = "data_sources/mongodb-atlas/chat/Box/schema.json"
        let unsynced = try #require(try RecordedApp.files(of: app).texts[ExactText(schema)]).replacing(
            "\"_partition\"", with: "\"_former\"")
        try await RecordedApp.deploy(app, to: fixture, more: [ExactText(schema): unsynced])
        try await eventually("the object goes", within: patience) {
            try await ann.catchUp()
            return ann.objects.objects[box] == nil
        }
        #expect(ann.objects.objects[person]?["visits"] == 1)
        // A client that still has the class can't write it, and keeps what is allowed.
        try ann.write((box, ["li": [2]]))
        try ann.write((person, ["visits": 2]))
        try await ann.upload()
        try await ann.receive { $0.objects.objects[box] == nil }
        #expect(ann.errors.map(\.numbers.first) == [231])
        let reason = ann.errors.first?.json.documents("rejectedUpdates").first?["reason"]?.stringValue
        #expect(reason == "objects of the class Box don't sync any more")
        #expect(ann.objects.objects[person]?["visits"] == 2)
        #expect(try await boxes.findOne(["_id": 1])?["li"] == [1])

        try await RecordedApp.deploy(app, to: fixture)
        try await eventually("the object is back", within: patience) {
            try await ann.catchUp()
            return ann.objects.objects[box]?["li"] == [1]
        }
        try ann.write((box, ["li": [3]]))
        try await ann.upload()
        #expect(ann.errors.count == 1)
        #expect(try await boxes.findOne(["_id": 1])?["li"] == [3])
    }

    @Test func `a client that waits gets a new class and property`() async throws {
        let fixture = try await GatewayFixture.shared()
        let app = "growing", partition = fixture.partition()
        try await RecordedApp.deploy(app, to: fixture)
        try await fixture.grant(.write, to: "ann", in: partition, app: app)
        let ann = RealmClient("ann", in: partition, of: fixture, app: app)
        try await RecordedApp.open(ann)
        try await ann.catchUp()
        try await RecordedApp.deploy(
            app, to: fixture,
            more: [
                "data_sources/mongodb-atlas/chat/Note/schema.json": """
                {"title": "Note", "bsonType": "object", "required": ["_id"],
                 "properties": {"_id": {"bsonType": "string"}, "_partition": {"bsonType": "string"}}}
                """
            ])
        // Nobody writes, and it asks for nothing.
        try await ann.receive { $0.objects.schema.classes["Note"] != nil }
        #expect(ann.errors.isEmpty)
        ann.cut()
    }

    @Test func `a new property has what documents had before`() async throws {
        let fixture = try await GatewayFixture.shared()
        let app = "latecoming", partition = fixture.partition()
        try await RecordedApp.deploy(app, to: fixture)
        try await fixture.grant(.write, to: "ann", in: partition, app: app)
        let ann = RealmClient("ann", in: partition, of: fixture, app: app)
        try await RecordedApp.open(ann)
        let box = ObjectKey(table: "Box", id: .int(7))
        _ = try await fixture.store.collection("Box", database: "chat", app: app).insertOne([
            "_id": 7, "_partition": .string(String(partition.text.dropFirst(2))), "color": "red",
        ])
        try await ann.receive { $0.objects.objects[box] != nil }
        let schema = "data_sources/mongodb-atlas/chat/Box/schema.json"
        let colored = try #require(try RecordedApp.files(of: app).texts[ExactText(schema)]).replacing(
            "\"_partition\":", with: "\"color\":{\"bsonType\":\"string\"},\"_partition\":")
        try await RecordedApp.deploy(app, to: fixture, more: [ExactText(schema): colored])
        try await ann.receive { $0.objects.objects[box]?["color"] == "red" }
        #expect(ann.errors.isEmpty)
        ann.cut()
    }

    @Test func `while sync is off, clients wait`() async throws {
        let fixture = try await GatewayFixture.shared()
        let app = "pausedsync", partition = fixture.partition()
        try await RecordedApp.deploy(app, to: fixture)
        try await fixture.grant(.write, to: "ann", in: partition, app: app)
        let ann = RealmClient("ann", in: partition, of: fixture, app: app)
        try await RecordedApp.open(ann)
        let box = ObjectKey(table: "Box", id: .int(1))
        try ann.write((box, ["li": [1]]))
        try await ann.upload()

        let sync = "sync/config.json"
        let off = try #require(try RecordedApp.files(of: app).texts[ExactText(sync)]).replacing(
            "enabled", with: "disabled")
        try await RecordedApp.deploy(app, to: fixture, more: [ExactText(sync): off])
        try await eventually("the session ends for now", within: patience) {
            if ann.errors.isEmpty { ann.send("mark 1 99") }
            try await ann.receive { !$0.errors.isEmpty || $0.marks.last == 99 }
            ann.forgetMarks()
            return !ann.errors.isEmpty
        }
        #expect(ann.errors.first?.json["action"] == "Transient" && ann.errors.first?.json["tryAgain"] == true)
        ann.cut()
        await #expect(throws: (any Error).self) { try await ann.connect() }

        try await RecordedApp.deploy(app, to: fixture)
        let other = RealmClient("ann", in: partition, of: fixture, app: app)
        try await RecordedApp.open(other)
        #expect(other.objects.objects[box]?["li"] == [1])
        try await ann.connect()
        try await ann.begin()
        try await ann.catchUp()
        try ann.write((box, ["li": [2]]))
        try await ann.upload()
        try await other.receive { $0.objects.objects[box]?["li"] == [2] }
    }

    @Test func `classes are added to a history, and other ones end it`() async throws {
        let fixture = try await GatewayFixture.shared()
        let app = "redeployed", partition = fixture.partition()
        try await RecordedApp.deploy(app, to: fixture)
        for user in ["ann", "bob"] { try await fixture.grant(.write, to: user, in: partition, app: app) }
        let ann = RealmClient("ann", in: partition, of: fixture, app: app)
        try await RecordedApp.open(ann)
        let box = ObjectKey(table: "Box", id: .int(1))
        try ann.write((box, ["li": [1, 2]]))
        try await ann.upload()

        try await RecordedApp.deploy(app, to: fixture) {
            $0.replacing("\"m\": {\"bsonType\": \"mixed\"}", with: "\"m\": {}, \"more\": {\"bsonType\": \"string\"}")
        }
        try await eventually("the property comes", within: patience) {
            try await ann.catchUp()
            return ann.objects.schema.classes["Box"]?.properties["more"] != nil
        }
        try ann.write((box, ["li": [1, 2], "more": "text"]))
        try await ann.upload()
        #expect(ann.errors.isEmpty)

        try await RecordedApp.deploy(app, to: fixture) {
            $0.replacing("\"m\": {\"bsonType\": \"mixed\"}", with: "\"m\": {\"bsonType\": \"string\"}")
        }
        try await eventually("the client has to begin anew", within: patience) {
            if ann.errors.isEmpty { ann.send("mark 1 99") }
            try await ann.receive { !$0.errors.isEmpty || $0.marks.last == 99 }
            ann.forgetMarks()
            return !ann.errors.isEmpty
        }
        #expect(ann.errors.first?.json["action"] == "ClientReset")
        let bob = RealmClient("bob", in: partition, of: fixture, app: app)
        try await bob.open()
        #expect(bob.objects.objects[box]?["li"] == [1, 2])
        #expect(bob.objects.schema.classes["Box"]?.properties["m"]?.type == .string)
        try bob.write((box, ["li": [3], "m": "text"]))
        try await bob.upload()
        #expect(bob.errors.isEmpty)
        ann.cut()
        try await ann.connect()
        try await ann.begin()
        let error = try await ann.next()
        #expect(error.name == "json_error" && error.json["action"] == "ClientReset")
    }
}
