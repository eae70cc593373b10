import AppRegistry
import DocumentModel
import DocumentStore
import TestSupport
import Testing

/// Triggers without `unordered`: Atlas runs them one event after the other, and functions rely on it.
@Suite struct OrderedTriggersTests {
    /// Reads, waits, and then writes what it read: each run that overlaps with another one loses one of the two.
    private static let counting = """
        exports = async function (event) {
            const counters = context.services.get("mongodb-atlas").db("Test").collection("Counter");
            const counter = await counters.findOne({_id: "n"});
            await new Promise(resolve => setTimeout(resolve, 5));
            await counters.updateOne(
                {_id: "n"}, {$set: {count: (counter?.count ?? 0) + 1}, $push: {seen: event.documentKey._id}}, {upsert: true});
        };
        """
    private static let events = 60

    private static func run(
        _ app: TriggerApp, _ fixture: TriggersFixture, events: Int = events
    ) async throws -> Document {
        try await fixture.deploy(app)
        let messages = fixture.store.collection("Message", database: "Test", app: app.id)
        try await messages.insertMany((0..<events).map { ["_id": .int32(Int32($0))] })
        let counters = fixture.store.collection("Counter", database: "Test", app: app.id)
        return try await eventually("all have run", within: .seconds(60)) {
            let counter = try await counters.findOne(["_id": "n"])
            return counter?["seen"]?.arrayValue?.count == events ? counter : nil
        }
    }

    @Test func `runs for different documents don't overlap`() async throws {
        let app = TriggerApp(functions: ["count": Self.counting], triggers: ["Message": "count"])
        let counter = try await Self.run(app, try await TriggersFixture.shared())
        #expect(counter["count"]?.intValue == Self.events)
    }

    @Test func `runs of an unordered trigger do`() async throws {
        var app = TriggerApp(functions: ["count": Self.counting], triggers: ["Message": "count"])
        app.isUnordered = true
        let counter = try await Self.run(app, try await TriggersFixture.shared())
        #expect((counter["count"]?.intValue ?? 0) < Self.events)
    }

    @Test func `runs of two workers don't overlap`() async throws {
        let app = TriggerApp(functions: ["count": Self.counting], triggers: ["Message": "count"])
        let fixture = try await TriggersFixture.pair()
        let counter = try await Self.run(app, fixture)
        #expect(counter["count"]?.intValue == Self.events)
        #expect(
            try await fixture.postgres.query(
                "select from partita.work_leases where name = $1", [.text("triggers \(app.id)/Test.Message")]
            ).count == 1)
    }

    @Test func `runs don't overlap while workers join and leave`() async throws {
        let app = TriggerApp(functions: ["count": Self.counting], triggers: ["Message": "count"])
        let fixture = try await TriggersFixture.single()
        let changing = Task {
            for _ in 0..<3 {
                let worker = try await StoppableWorker(fixture.values)
                try await Task.sleep(for: .seconds(2))  // so that it joins, and has batches
                try await worker.stop()
            }
        }
        let counter = try await Self.run(app, fixture, events: 600)
        #expect(counter["count"]?.intValue == 600)
        try await changing.value
    }

    @Test func `an ordered trigger of a whole database orders the events of all its collections`() async throws {
        var app = TriggerApp(functions: ["count": Self.counting])
        app.more["triggers/all.json"] = """
            {"name": "all", "type": "DATABASE", "disabled": false,
             "config": {"service_name": "mongodb-atlas", "database": "Test", "operation_types": ["INSERT"],
                        "match": {"ns.coll": {"$ne": "Counter"}}, "unordered": false},
             "event_processors": {"FUNCTION": {"config": {"function_name": "count"}}}}
            """
        let fixture = try await TriggersFixture.shared()
        try await fixture.deploy(app)
        for n in 0..<20 {
            _ = try await fixture.store.collection("C\(n % 5)", database: "Test", app: app.id)
                .insertOne(["_id": .int32(Int32(n))])
        }
        let counters = fixture.store.collection("Counter", database: "Test", app: app.id)
        let counter = try await eventually("all have run", within: .seconds(60)) {
            let counter = try await counters.findOne(["_id": "n"])
            return counter?["seen"]?.arrayValue?.count == 20 ? counter : nil
        }
        #expect(counter["count"]?.intValue == 20)
    }

    @Test func `a slow ordered trigger doesn't hold up triggers on other collections`() async throws {
        let app = TriggerApp(
            functions: [
                "slow": "exports = () => new Promise(resolve => setTimeout(resolve, 1000));", "count": Self.counting,
            ], triggers: ["Message": "slow", "Letter": "count"])
        let fixture = try await TriggersFixture.shared()
        try await fixture.deploy(app)
        try await fixture.store.collection("Message", database: "Test", app: app.id)
            .insertMany((0..<100).map { ["_id": .int32($0)] })
        _ = try await fixture.store.collection("Letter", database: "Test", app: app.id).insertOne(["_id": 1])
        let counters = fixture.store.collection("Counter", database: "Test", app: app.id)
        // The slow one takes 100 s for all of its events.
        try await eventually("the other trigger has run", within: .seconds(60)) {
            try await counters.findOne(["_id": "n"]) != nil
        }
    }

    @Test func `events that waited in the lane of an ordered trigger run at the same time once it is unordered`()
        async throws
    {
        let fixture = try await TriggersFixture.shared()
        var app = TriggerApp(
            functions: [
                "wait": """
                exports = async ({ documentKey }) => {
                    const database = context.services.get("mongodb-atlas").db("Test");
                    await database.collection("Began").insertOne(documentKey);
                    await new Promise(done => setTimeout(done, 100));
                    await database.collection("Ended").insertOne(documentKey);
                };
                """
            ], triggers: ["Message": "wait"])
        try await fixture.deploy(app)
        func count(_ collection: String) async throws -> Int {
            try await fixture.store.collection(collection, database: "Test", app: app.id).countDocuments([:])
        }
        _ = try await fixture.store.collection("Message", database: "Test", app: app.id)
            .insertMany((0..<300).map { ["_id": .int32($0)] })
        try await eventually("some have run", within: patience) { try await count("Ended") > 5 }
        app.isUnordered = true
        try await fixture.deploy(app)
        try await eventually("several run at the same time", within: patience) {
            // Those that begin between the two counts aren't counted.
            let began = try await count("Began")
            return try await began - count("Ended") > 2
        }
        try await eventually("all have run", within: patience) { try await count("Ended") == 300 }
    }
}
