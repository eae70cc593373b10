import AppRegistry
import DocumentModel
import DocumentStore
import EventTopics
import Postgres
import TestSupport
import Testing

@testable import TriggerWorkers

@Suite struct PauseTests {
    private static let noting = """
        exports = async function (event) {
            const notes = context.services.get("mongodb-atlas").db("Test").collection("Note");
            const id = event.fullDocument ? event.fullDocument.of : event.user.id;
            const n = event.fullDocument ? event.fullDocument.n : 0;
            await notes.updateOne({_id: id}, {$push: {ns: n}}, {upsert: true});
        };
        """

    private static func pause(_ name: String, _ app: TriggerApp, _ fixture: TriggersFixture) async throws {
        #expect(try await fixture.registry.pauseTrigger(name, of: app.id, by: "ada@test"))
        try await AppRegistry.announce(try #require(try await fixture.registry.load(app.id)), with: fixture.events)
    }

    private static func state(_ app: TriggerApp, _ fixture: TriggersFixture) async throws -> [Bool] {
        try #require(try await fixture.registry.load(app.id)).pausedTriggers.map(\.isResuming)
    }

    @Test func `a paused trigger runs for what it has missed once it is resumed, in order, also after a deployment`()
        async throws
    {
        let fixture = try await TriggersFixture.shared()
        var app = TriggerApp(functions: ["note": Self.noting], triggers: ["Message": "note", "Other": "note"])
        try await fixture.deploy(app)
        let messages = fixture.store.collection("Message", database: "Test", app: app.id)
        let notes = fixture.store.collection("Note", database: "Test", app: app.id)
        try await Self.pause("onMessage", app, fixture)
        #expect(try await fixture.registry.pauseTrigger("onMessage", of: app.id, by: "ben") == false)
        var documents: [Document] = []
        for n in 0..<60 {
            documents.append(["_id": .int32(Int32(n)), "of": .string("d\(n % 3)"), "n": .int32(Int32(n / 3))])
        }
        try await messages.insertMany(documents)
        // Another trigger of the app shows that the events have passed.
        func pass(_ id: String) async throws {
            try await fixture.store.collection("Other", database: "Test", app: app.id)
                .insertOne(["_id": .string(id), "of": .string(id), "n": 0])
            try await eventually("the other trigger has run", within: patience) {
                try await notes.findOne(["_id": .string(id)]) != nil
            }
        }
        try await pass("first")
        app.functions["further"] = "exports = () => 1;"
        try await fixture.deploy(app)
        try await messages.insertOne(["_id": "last", "of": "d0", "n": 20])
        try await pass("second")
        try await eventually("the events are kept", within: patience) {
            try await fixture.postgres.query(
                "select from partita.trigger_missed_events where app = $1", [.text(app.id)]
            ).count == 61
        }
        #expect(try await notes.countDocuments(["_id": ["$regex": "^d"]]) == 0)
        #expect(try await Self.state(app, fixture) == [false])

        #expect(try await fixture.registry.resumeTrigger("onMessage", of: app.id))
        // What comes while it catches up waits behind what was missed.
        try await messages.insertOne(["_id": "meanwhile", "of": "d0", "n": 21])
        try await eventually("it has caught up", within: patience) {
            try await notes.findOne(["_id": "d0"])?["ns"]?.arrayValue?.count == 22
        }
        let first = try #require(try await notes.findOne(["_id": "d0"])?["ns"]?.arrayValue)
        #expect(first.compactMap(\.intValue).count == 22)
        try await eventually("the pause has ended", within: patience) { try await Self.state(app, fixture).isEmpty }
        #expect(try await notes.findOne(["_id": "d1"])?["ns"]?.arrayValue?.count == 20)
        try await messages.insertOne(["_id": "after", "of": "d2", "n": 99])
        try await eventually("it runs as before", within: patience) {
            try await notes.findOne(["_id": "d2"])?["ns"]?.arrayValue?.last == 99
        }
        #expect(fixture.deadLetters(of: app).isEmpty)
    }

    @Test func `updates of one document are made up for in their order`() async throws {
        let fixture = try await TriggersFixture.shared()
        let log = """
            exports = async function (event) {
                const notes = context.services.get("mongodb-atlas").db("Test").collection("Note");
                await notes.updateOne({_id: "log"}, {$push: {ns: event.fullDocument.n}}, {upsert: true});
            };
            """
        var app = TriggerApp(functions: ["log": log])
        app.more["triggers/onUpdate.json"] = """
            {"name": "onUpdate", "type": "DATABASE", "config": {"service_name": "mongodb-atlas", "database": "Test",
             "collection": "Message", "operation_types": ["UPDATE", "INSERT"], "full_document": true},
             "function_name": "log"}
            """
        try await fixture.deploy(app)
        let messages = fixture.store.collection("Message", database: "Test", app: app.id)
        let notes = fixture.store.collection("Note", database: "Test", app: app.id)
        try await Self.pause("onUpdate", app, fixture)
        try await messages.insertOne(["_id": 1, "n": 0])
        for n in 1..<40 {
            _ = try await messages.updateOne(["_id": 1], ["$set": ["n": .int32(Int32(n))]])
            if n == 25 { #expect(try await fixture.registry.resumeTrigger("onUpdate", of: app.id)) }
        }
        try await eventually("all are made up for", within: patience) {
            try await notes.findOne(["_id": "log"])?["ns"]?.arrayValue?.count == 40
        }
        #expect(try await notes.findOne(["_id": "log"])?["ns"]?.arrayValue?.compactMap(\.intValue) == Array(0..<40))
    }

    @Test func `a trigger with skip_catchup_events doesn't make up for anything`() async throws {
        let fixture = try await TriggersFixture.shared()
        var app = TriggerApp(functions: ["note": Self.noting])
        app.more["triggers/onMessage.json"] = """
            {"name": "onMessage", "type": "DATABASE", "config": {"service_name": "mongodb-atlas", "database": "Test",
             "collection": "Message", "operation_types": ["INSERT"], "full_document": true, "skip_catchup_events": true},
             "function_name": "note"}
            """
        app.more["triggers/onUpdate.json"] = """
            {"name": "onUpdate", "type": "DATABASE", "config": {"service_name": "mongodb-atlas", "database": "Test",
             "collection": "Message", "operation_types": ["UPDATE"], "full_document": true}, "function_name": "note"}
            """
        try await fixture.deploy(app)
        let notes = fixture.store.collection("Note", database: "Test", app: app.id)
        let messages = fixture.store.collection("Message", database: "Test", app: app.id)
        try await Self.pause("onMessage", app, fixture)
        try await messages.insertOne(["_id": 1, "of": "skipped", "n": 1])
        // The events of a document are handled in their order: when the second one is, the first has been.
        _ = try await messages.updateOne(["_id": 1], ["$set": ["of": "other"]])
        try await eventually("the other trigger has run", within: patience) {
            try await notes.findOne(["_id": "other"]) != nil
        }
        #expect(try await fixture.registry.resumeTrigger("onMessage", of: app.id))
        try await eventually("the pause has ended", within: patience) { try await Self.state(app, fixture).isEmpty }
        try await messages.insertOne(["_id": 2, "of": "later", "n": 1])
        try await eventually("it runs again", within: patience) { try await notes.findOne(["_id": "later"]) != nil }
        #expect(try await notes.findOne(["_id": "skipped"]) == nil)
    }

    @Test func `an event that a paused trigger skipped isn't run for when it comes again later`() async throws {
        let fixture = try await TriggersFixture.shared()
        var app = TriggerApp(functions: ["note": Self.noting])
        app.more["triggers/onMessage.json"] = """
            {"name": "onMessage", "type": "DATABASE", "config": {"service_name": "mongodb-atlas", "database": "Test",
             "collection": "Message", "operation_types": ["INSERT"], "skip_catchup_events": true},
             "function_name": "note"}
            """
        try await fixture.deploy(app)
        try await Self.pause("onMessage", app, fixture)
        let deployed = try #require(try await fixture.registry.load(app.id))
        let trigger = try #require(deployed.definition.trigger("onMessage"))
        let missed = MissedEvents(client: fixture.postgres)
        func take() async throws -> Bool {
            try await missed.take(
                .change(partition: Partition(text: "p"), revision: Revision(epoch: 1, number: 1)), id: "1", time: 0,
                for: trigger, of: deployed)
        }
        #expect(try await take())
        #expect(try await fixture.registry.resumeTrigger("onMessage", of: app.id))
        try await eventually("the pause has ended", within: patience) { try await Self.state(app, fixture).isEmpty }
        #expect(try await !take())
        let records = RunRecords(client: fixture.postgres)
        let runs = ["1", "2"].map { RunRecords.Run(app: app.id, trigger: "onMessage", event: $0) }
        let entries = try await records.entries(of: runs)
        #expect(entries[0] == nil && entries[1]?.isEmpty == true)
    }

    @Test func `events of accounts are kept for a paused trigger`() async throws {
        let fixture = try await TriggersFixture.shared()
        var app = TriggerApp(functions: ["note": Self.noting])
        app.more["triggers/onUser.json"] = """
            {"name": "onUser", "type": "AUTHENTICATION", "config": {"operation_type": "CREATE", "providers": []},
             "function_name": "note"}
            """
        try await fixture.deploy(app)
        let notes = fixture.store.collection("Note", database: "Test", app: app.id)
        try await Self.pause("onUser", app, fixture)
        try await fixture.events.send(
            AuthEvent(
                id: ObjectId().hexString, app: app.id, kind: .userCreated, userID: "ann", user: ["id": "ann"],
                time: TriggersFixture.now))
        try await eventually("the event is kept", within: patience) {
            try await !fixture.postgres.query(
                "select from partita.trigger_missed_events where app = $1", [.text(app.id)]
            ).isEmpty
        }
        #expect(try await fixture.registry.resumeTrigger("onUser", of: app.id))
        try await eventually("it is made up for", within: patience) {
            try await notes.findOne(["_id": "ann"]) != nil
        }
    }
}
