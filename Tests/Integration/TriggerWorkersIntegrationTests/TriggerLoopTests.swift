import AppRegistry
import DocumentModel
import DocumentStore
import EventTopics
import TestSupport
import Testing

/// Triggers that cause themselves. The workers' limits are 5 runs in a row and 20 in all.
@Suite struct TriggerLoopTests {
    private static func inserting(into collections: String...) -> String {
        let inserts = collections.map { "await database.collection(\"\($0)\").insertOne({});" }.joined(separator: "\n")
        return """
            exports = async function (event) {
                const database = context.services.get("mongodb-atlas").db("Test");
                if (event.causedBy) throw new Error("Atlas' events have no such field");
                \(inserts)
            };
            """
    }

    private static func deploy(_ app: TriggerApp) async throws -> TriggersFixture {
        let fixture = try await TriggersFixture.shared()
        try await fixture.deploy(app)
        _ = try await fixture.store.collection("Message", database: "Test", app: app.id).insertOne(["_id": "first"])
        return fixture
    }

    private static func letter(of app: TriggerApp, _ fixture: TriggersFixture) async throws -> TriggerFailure {
        try await eventually("the dead letter", within: .seconds(60)) { fixture.deadLetters(of: app).first }
    }

    private static func count(_ collection: String, _ app: TriggerApp, _ fixture: TriggersFixture) async throws -> Int {
        try await fixture.store.collection(collection, database: "Test", app: app.id).countDocuments([:])
    }

    @Test func `a trigger that causes itself ends, and the dead letter says by which chain`() async throws {
        let app = TriggerApp(
            functions: ["repeat": Self.inserting(into: "Message"), "note": Self.inserting(into: "Note")],
            triggers: ["Message": "repeat", "Letter": "note"])
        let fixture = try await Self.deploy(app)
        let letter = try await Self.letter(of: app, fixture)
        #expect(letter.error.code == "trigger-loop")
        let first = try #require(try await fixture.firstChange(of: app, collection: "Message"))
        #expect(letter.causedBy == TriggerChain(beginning: first, links: [.init(trigger: "onMessage", runs: 5)]))
        #expect(letter.error.message.contains("onMessage → onMessage"), "\(letter.error.message)")
        #expect(letter.error.message.contains(first))
        #expect(letter.event["operationType"] == "insert" && letter.event["causedBy"] == nil)
        #expect(try await Self.count("Message", app, fixture) == 6)
        // Other events of the app's triggers aren't held up, and a new document's chain begins anew.
        _ = try await fixture.store.collection("Letter", database: "Test", app: app.id).insertOne(["_id": 1])
        try await eventually("the other trigger runs", within: .seconds(60)) {
            try await Self.count("Note", app, fixture) == 1
        }
        _ = try await fixture.store.collection("Message", database: "Test", app: app.id).insertOne(["_id": "second"])
        try await eventually("the next chain ends", within: .seconds(60)) {
            fixture.deadLetters(of: app).count == 2
        }
        #expect(try await Self.count("Message", app, fixture) == 12)
    }

    @Test func `a trigger that causes itself by the last stage of a pipeline ends, too`() async throws {
        let app = TriggerApp(
            functions: [
                "repeat": """
                exports = async function (event) {
                    const messages = context.services.get("mongodb-atlas").db("Test").collection("Message");
                    await messages.aggregate([{$limit: 1}, {$project: {_id: new BSON.ObjectId()}}, {$merge: {into: "Message"}}]).toArray();
                };
                """
            ], triggers: ["Message": "repeat"])
        let fixture = try await Self.deploy(app)
        let letter = try await Self.letter(of: app, fixture)
        #expect(letter.error.code == "trigger-loop")
        #expect(letter.causedBy?.links == [.init(trigger: "onMessage", runs: 5)])
        #expect(try await Self.count("Message", app, fixture) == 6)
    }

    @Test func `an operator lets a loop go on by a replay of its dead letter`() async throws {
        let app = TriggerApp(functions: ["repeat": Self.inserting(into: "Message")], triggers: ["Message": "repeat"])
        let fixture = try await Self.deploy(app)
        let letter = try await Self.letter(of: app, fixture)
        // As `partita triggers --replay` does, which finds a dead letter only when its event counts as handled.
        try await eventually("the dead letter is stored", within: .seconds(60)) {
            try await !fixture.postgres.query(
                "select from partita.trigger_failures where app = $1", [.text(app.id)]
            ).isEmpty
        }
        try await fixture.postgres.execute(
            "delete from partita.handled_event_ids where event_id = $1",
            [.text("\(app.id)/onMessage/\(letter.failedEvent)")])
        try await fixture.events.send(DocumentChangesEvent.change(ChangeEvent(letter.event)))
        try await eventually("it has gone on and ended again", within: .seconds(60)) {
            fixture.deadLetters(of: app).count == 2
        }
        #expect(try await Self.count("Message", app, fixture) == 11)
    }

    @Test func `triggers that cause each other end`() async throws {
        let app = TriggerApp(
            functions: ["there": Self.inserting(into: "Letter"), "back": Self.inserting(into: "Message")],
            triggers: ["Message": "there", "Letter": "back"])
        let fixture = try await Self.deploy(app)
        let letter = try await Self.letter(of: app, fixture)
        #expect(letter.trigger == "onMessage")
        #expect(letter.error.message.contains("onMessage → onLetter → onMessage"), "\(letter.error.message)")
        #expect(try await Self.count("Message", app, fixture) == 6)
        #expect(try await Self.count("Letter", app, fixture) == 5)
    }

    @Test func `a trigger that causes itself twice each time ends`() async throws {
        let app = TriggerApp(
            functions: ["double": Self.inserting(into: "Message", "Message")], triggers: ["Message": "double"])
        let fixture = try await Self.deploy(app)
        // The first run and fewer than 20 more write two documents each, for the others the function isn't run.
        try await eventually("the dead letters", within: .seconds(60)) {
            let count = try await Self.count("Message", app, fixture)
            return count > 1 && fixture.deadLetters(of: app).count == (count + 1) / 2
        }
        #expect(try await Self.count("Message", app, fixture) <= 43)
        #expect(fixture.deadLetters(of: app).allSatisfy { $0.error.code == "trigger-loop" })
    }

    @Test func `the function for new users gets the user`() async throws {
        let fixture = try await TriggersFixture.shared()
        var app = TriggerApp(
            functions: [
                "greet": """
                exports = async function (user) {
                    await context.services.get("mongodb-atlas").db("Test").collection("Greeting")
                        .insertOne({_id: user.id, mail: user.data.email, inner: user.user.id});
                };
                """
            ])
        app.more["auth/custom_user_data.json"] = """
            {"enabled": true, "mongo_service_name": "mongodb-atlas", "database_name": "Test", "collection_name": "Person",
             "user_id_field": "userId", "on_user_creation_function_name": "greet"}
            """
        try await fixture.deploy(app)
        try await fixture.events.send(
            AuthEvent(
                id: ObjectId().hexString, app: app.id, kind: .userCreated, userID: "ann",
                user: ["id": "ann", "data": ["email": "ann@example.com"]], providers: ["local-userpass"],
                time: TriggersFixture.now))
        let greetings = fixture.store.collection("Greeting", database: "Test", app: app.id)
        let greeting = try await eventually("the greeting", within: .seconds(60)) {
            try await greetings.findOne(["_id": "ann"])
        }
        #expect(greeting == ["_id": "ann", "mail": "ann@example.com", "inner": "ann"])
    }
}
