import DocumentModel
import DocumentStore
import FunctionProtocol
import TestSupport
import Testing

@testable import TriggerWorkers

/// What a trigger's run writes, and what it is told of it.
@Suite struct ExactWritesTests {
    private static func function(_ body: String) -> String {
        """
        exports = async function (event) {
            const database = context.services.get("mongodb-atlas").db("Test");
            \(body)
        };
        """
    }

    @Test func `two triggers on one event make documents with ids of their own`() async throws {
        let fixture = try await TriggersFixture.shared()
        var app = TriggerApp(
            functions: [
                "one": Self.function(#"await database.collection("Audit").insertOne({by: "one"});"#),
                "two": Self.function(#"await database.collection("Audit").insertOne({by: "two"});"#),
            ], triggers: ["Message": "one"])
        app.more["triggers/second.json"] = app.files.texts["triggers/onMessage.json"]?
            .replacing("onMessage", with: "second").replacing("\"one\"", with: "\"two\"")
        try await fixture.deploy(app)
        let audit = fixture.store.collection("Audit", database: "Test", app: app.id)
        let messages = fixture.store.collection("Message", database: "Test", app: app.id)
        for number in 0..<3 { _ = try await messages.insertOne(["_id": .int32(Int32(number))]) }
        try await eventually("both have run for each", within: patience) {
            try await audit.countDocuments([:]) == 6
        }
        #expect(fixture.deadLetters(of: app).isEmpty)
    }

    @Test func `the last stage of a pipeline writes once, however often the run starts`() async throws {
        let fixture = try await TriggersFixture.shared()
        let app = TriggerApp(
            functions: [
                "add": Self.function(
                    """
                    await database.collection("Message").aggregate([
                        {$match: {_id: event.fullDocument._id}}, {$project: {_id: 1, count: {$literal: 1}}},
                        {$merge: {into: "Sum", whenMatched: [{$set: {count: {$add: ["$count", "$$new.count"]}}}]}}
                    ]).toArray();
                    throw new Error("once more");
                    """)
            ], triggers: ["Message": "add"])
        try await fixture.deploy(app)
        _ = try await fixture.store.collection("Message", database: "Test", app: app.id).insertOne(["_id": 1])
        try await eventually("it has failed for good", within: patience) { fixture.deadLetters(of: app).count == 1 }
        let sum = try await fixture.store.collection("Sum", database: "Test", app: app.id).findOne(["_id": 1])
        #expect(sum?["count"]?.intValue == 1)
    }

    @Test func `a run takes its beginning for the present, also when it starts again`() async throws {
        let fixture = try await TriggersFixture.shared()
        let app = TriggerApp(
            functions: [
                "note": Self.function(
                    """
                    await database.collection("Told").insertOne({_id: event.fullDocument._id, at: new Date()});
                    const told = await database.collection("Told").findOne({_id: event.fullDocument._id});
                    if (Date.now() - told.at > 100) throw new Error("another time");
                    throw new Error("once more");
                    """)
            ], triggers: ["Message": "note"])
        try await fixture.deploy(app)
        _ = try await fixture.store.collection("Message", database: "Test", app: app.id).insertOne(["_id": 1])
        let letter = try await eventually("it has failed for good", within: patience) {
            fixture.deadLetters(of: app).first
        }
        #expect(letter.error.message.contains("once more"), "\(letter.error.message)")
    }

    @Test func `of several writes of a call, those that aren't refused are made`() async throws {
        let fixture = try await TriggersFixture.shared()
        let app = TriggerApp(
            functions: [
                "many": Self.function(
                    """
                    let told = {};
                    const parts = database.collection("Part");
                    try { await parts.insertMany([{_id: "a"}, {_id: "taken"}, {_id: "b"}]); }
                    catch (error) { told = {code: error.code, ids: error.result.insertedIds}; }
                    told.seen = await parts.count({});
                    try { await parts.insertMany([{_id: "c"}, {_id: "taken"}, {_id: "d"}], {ordered: false}); }
                    catch (error) { told.unordered = error.writeErrors.map(each => each.index); }
                    await database.collection("Told").insertOne({_id: event.fullDocument._id, told});
                    """)
            ], triggers: ["Message": "many"])
        try await fixture.deploy(app)
        let parts = fixture.store.collection("Part", database: "Test", app: app.id)
        _ = try await parts.insertOne(["_id": "taken"])
        _ = try await fixture.store.collection("Message", database: "Test", app: app.id).insertOne(["_id": 1])
        let told = try await eventually("the run is over", within: patience) {
            try await fixture.store.collection("Told", database: "Test", app: app.id).findOne(["_id": 1])?["told"]
        }
        #expect(told == ["code": 11000, "ids": ["0": "a"], "seen": 2, "unordered": [1]], "\(told)")
        let ids = try await parts.find([:], options: FindOptions(sort: ["_id": 1])).map { $0["_id"] }
        #expect(ids == ["a", "c", "d", "taken"])
        try await eventually("the run is marked") { try await fixture.journalRows(of: app) == 0 }
    }

    @Test func `a dead letter that is replayed goes on after what its run had written`() async throws {
        let fixture = try await TriggersFixture.shared()
        let app = TriggerApp(
            functions: [
                "hope": Self.function(
                    """
                    await database.collection("Counter").updateOne({_id: "n"}, {$inc: {count: 1}}, {upsert: true});
                    await database.collection("Audit").insertOne({});
                    if (!await database.collection("Flag").findOne({_id: "mended"})) throw new Error("not yet");
                    await database.collection("Counter").updateOne({_id: "n"}, {$set: {done: true}});
                    """)
            ], triggers: ["Message": "hope"])
        try await fixture.deploy(app)
        let counters = fixture.store.collection("Counter", database: "Test", app: app.id)
        _ = try await fixture.store.collection("Message", database: "Test", app: app.id).insertOne(["_id": 1])
        try await eventually("it is dead-lettered", within: patience) { fixture.deadLetters(of: app).count == 1 }
        _ = try await fixture.store.collection("Flag", database: "Test", app: app.id).insertOne(["_id": "mended"])
        let change = try #require(try await fixture.lastChange(of: app, collection: "Message"))
        try await eventually("its end is recorded") {
            try await fixture.postgres.execute(
                "delete from partita.handled_event_ids where event_id like $1", [.text("\(app.id)/onMessage/%")]) == 1
        }
        try await fixture.events.send(change)
        try await eventually("it goes on", within: patience) {
            try await counters.findOne(["_id": "n"])?["done"] == true
        }
        #expect(try await counters.findOne(["_id": "n"])?["count"] == 1)
        #expect(
            try await fixture.store.collection("Audit", database: "Test", app: app.id).countDocuments([:]) == 1)
        try await eventually("its record is deleted") { try await fixture.journalRows(of: app) == 0 }
    }
}
