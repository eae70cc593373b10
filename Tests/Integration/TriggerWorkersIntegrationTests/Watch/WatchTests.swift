import DocumentModel
import DocumentStore
import SyncEngine
import TestSupport
import Testing

/// What streams of changes bring.
@Suite struct WatchTests {
    private static let everybody =
        #"{"roles": [{"name": "all", "apply_when": {}, "read": true, "write": true}]}"#
    private static let owners =
        #"{"roles": [{"name": "owner", "apply_when": {"owner": "%%user.id"}, "read": true, "write": true}]}"#
    private static let named = """
        {"roles": [{"name": "all", "apply_when": {}, "fields": {"name": {"read": true}, "note": {"read": false}}}]}
        """

    @Test func `a stream has the changes of a collection in MongoDB's form`() async throws {
        let app = TriggerApp(rules: ["Note": Self.everybody, "Other": Self.everybody])
        let (fixture, token) = try await TriggersFixture.deployed(app)
        let client = try EventStreamClient(port: fixture.port)
        let target = TriggersFixture.watchTarget(app, call: TriggersFixture.watchCall("Note"))
        let (status, head) = try await client.open(target + "&baas_at=" + token("ann"))
        #expect(status == 200, "\(head)")
        #expect(head.contains("Content-Type: text/event-stream"))
        #expect(head.contains("X-Accel-Buffering: no"))
        let notes = fixture.store.collection("Note", database: "Test", app: app.id)
        _ = try await fixture.store.collection("Other", database: "Test", app: app.id).insertOne(["_id": 0])
        _ = try await notes.insertOne(["_id": 1, "text": "100% \n\r sure %0A", "n": .int64(5)])
        _ = try await notes.updateOne(["_id": 1], ["$set": ["n": 6], "$unset": ["text": ""]])
        _ = try await notes.replaceOne(["_id": 1], ["new": true])
        _ = try await notes.deleteOne(["_id": 1])
        let insert = try await client.change()
        #expect(insert["operationType"] == "insert")
        #expect(insert["fullDocument"] == ["_id": 1, "text": "100% \n\r sure %0A", "n": .int64(5)])
        #expect(insert["ns"] == ["db": "Test", "coll": "Note"])
        #expect(insert["documentKey"] == ["_id": 1])
        #expect(insert["_id"]?["_data"]?.stringValue?.isEmpty == false)
        #expect(
            Set(insert.keys.map { ExactText($0) })
                == Set(texts: [
                    "_id", "operationType", "clusterTime", "wallTime", "fullDocument", "ns", "documentKey",
                ]))
        let update = try await client.change()
        #expect(update["operationType"] == "update")
        #expect(update["fullDocument"] == ["_id": 1, "n": 6])
        #expect(update["updateDescription"]?["updatedFields"] == ["n": 6])
        #expect(update["updateDescription"]?["removedFields"] == ["text"])
        #expect(update["fullDocumentBeforeChange"] == nil)
        #expect(update["_id"] != insert["_id"])
        let replace = try await client.change()
        #expect(replace["operationType"] == "replace")
        #expect(replace["fullDocument"] == ["_id": 1, "new": true])
        let delete = try await client.change()
        #expect(delete["operationType"] == "delete")
        #expect(delete["documentKey"] == ["_id": 1])
        #expect(delete["fullDocument"] == nil)
    }

    @Test func `a user gets the changes of what the rules let them read`() async throws {
        let app = TriggerApp(rules: ["Note": Self.owners])
        let (fixture, token) = try await TriggersFixture.deployed(app)
        let ann = try await fixture.watch("Note", of: app, token: token("ann"))
        let bob = try await fixture.watch("Note", of: app, token: token("bob"))
        let notes = fixture.store.collection("Note", database: "Test", app: app.id)
        _ = try await notes.insertOne(["_id": 1, "owner": "ann", "n": 1])
        _ = try await notes.updateOne(["_id": 1], ["$set": ["n": 2]])
        _ = try await notes.updateOne(["_id": 1], ["$set": ["owner": "bob"]])
        _ = try await notes.updateOne(["_id": 1], ["$set": ["n": 3]])
        _ = try await notes.deleteOne(["_id": 1])
        func seen(_ client: EventStreamClient, _ count: Int) async throws -> [Value] {
            var seen: [Value] = []
            for _ in 0..<count {
                let change = try await client.change()
                seen.append([change["operationType"] ?? .null, change["fullDocument"]?["n"] ?? .null])
                // Nothing tells where the document is, or who wrote it.
                let text = ExtendedJSON.print(.document(change))
                #expect(change["operationType"] != "delete" || !text.contains("ann") && !text.contains("bob"))
                #expect(!text.contains(app.id))
            }
            return seen
        }
        #expect(try await seen(ann, 3) == [["insert", 1], ["update", 2], ["delete", .null]])
        // The changes of another document have no order with these, so it is written when they are there.
        _ = try await notes.insertOne(["_id": 2, "owner": "ann"])
        #expect(try await seen(ann, 1) == [["insert", .null]])
        // For bob, the note begins when it becomes his.
        #expect(try await seen(bob, 3) == [["insert", 2], ["update", 3], ["delete", .null]])
    }

    @Test func `hidden fields affect nothing that a stream has`() async throws {
        let app = TriggerApp(rules: ["Note": Self.named])
        let (fixture, token) = try await TriggersFixture.deployed(app)
        let client = try await fixture.watch("Note", of: app, token: token("ann"))
        let filtered = try await fixture.watch(
            "Note", #""filter": {"fullDocument.note": {"$exists": true}}"#, of: app, token: token("ann"))
        let notes = fixture.store.collection("Note", database: "Test", app: app.id)
        _ = try await notes.insertOne(["_id": 1, "name": "a", "note": "secret"])
        _ = try await notes.updateOne(["_id": 1], ["$set": ["note": "other"]])
        _ = try await notes.updateOne(["_id": 1], ["$set": ["name": "b", "note": "third"]])
        _ = try await notes.replaceOne(["_id": 1], ["name": "b", "note": "fourth"])
        _ = try await notes.deleteOne(["_id": 1])
        #expect(try await client.change()["fullDocument"] == ["_id": 1, "name": "a"])
        let update = try await client.change()
        #expect(update["fullDocument"] == ["_id": 1, "name": "b"])
        #expect(update["updateDescription"]?["updatedFields"] == ["name": "b"])
        #expect(update["updateDescription"]?["removedFields"] == [])
        #expect(try await client.change()["operationType"] == "delete")
        try await fixture.tell(.userDisabled, of: "ann", app: app)
        #expect(try await filtered.next()?.name == "error")
    }

    @Test func `a filter matches the event, and ids choose documents`() async throws {
        let app = TriggerApp(rules: ["Note": Self.everybody])
        let (fixture, token) = try await TriggersFixture.deployed(app)
        let large = try await fixture.watch(
            "Note", #""filter": {"fullDocument.n": {"$gt": 5}}"#, of: app, token: token("ann"))
        let deletes = try await fixture.watch(
            "Note", #""filter": {"operationType": "delete"}"#, of: app, token: token("ann"))
        let second = try await fixture.watch(
            "Note", #""ids": [{"$numberInt": "2"}, "none"], "useCompactEvents": false"#, of: app, token: token("ann"))
        let notes = fixture.store.collection("Note", database: "Test", app: app.id)
        for n in 1...3 { _ = try await notes.insertOne(["_id": .int32(Int32(n)), "n": .int32(Int32(n * 3))]) }
        _ = try await notes.updateOne(["_id": 2], ["$set": ["n": 1]])
        _ = try await notes.deleteOne(["_id": 1])
        _ = try await notes.deleteOne(["_id": 2])
        // Changes of different documents come in any order.
        for (client, ids) in [(large, Set([2, 3])), (deletes, Set([1, 2]))] {
            var seen: Set<Int> = []
            for _ in ids { seen.insert(try #require(try await client.change()["documentKey"]?["_id"]?.intValue)) }
            #expect(seen == ids)
        }
        for operation in ["insert", "update", "delete"] as [Value] {
            let change = try await second.change()
            #expect(change["operationType"] == operation)
            #expect(change["documentKey"] == ["_id": 2])
        }
    }

    @Test func `writes of devices, functions and other writers are in the stream`() async throws {
        let insert = """
            exports = () => context.services.get("mongodb-atlas").db("Test").collection("Note")
                .insertOne({ _id: "function", team: "red" });
            """
        let schema = """
            {"title": "Note", "bsonType": "object", "required": ["_id"],
             "properties": {"_id": {"bsonType": "string"}, "team": {"bsonType": "string"}}}
            """
        let app = TriggerApp(
            functions: ["insert": insert], rules: ["Note": Self.everybody],
            more: [
                "sync/config.json": """
                {"state": "enabled", "service_name": "mongodb-atlas", "database_name": "Test",
                 "partition": {"key": "team", "type": "string", "required": true,
                               "permissions": {"read": true, "write": true}}}
                """,
                "data_sources/mongodb-atlas/Test/Note/schema.json": schema,
            ])
        let (fixture, token) = try await TriggersFixture.deployed(app)
        let client = try await fixture.watch("Note", of: app, token: token("ann"))
        let partition = Partition(text: "s:red")
        try await fixture.postgres.execute(
            """
            insert into partita.grants (app, partition, user_id, access, epoch, version) values ($1, $2, '*', 'write', 1, 1)
            """, [.text(app.id), .text(partition.text)])
        let clock = HybridTime(milliseconds: 1_700_000_000_000)
        let results = try await fixture.store.commit(
            [
                Upload(
                    user: "bob", device: "phone", partition: partition,
                    changeset: Changeset(
                        version: 1, clock: clock,
                        operations: [
                            Operation(
                                collection: "Note", id: "device",
                                kind: .insert(["_id": "device", "team": "red"]))
                        ]), time: clock)
            ], app: app.id)
        _ = try #require(results.first ?? nil).get()
        #expect(try await client.change()["documentKey"] == ["_id": "device"])
        #expect(try await fixture.call("insert", app: app.id, token: token("ann")).status == 200)
        #expect(try await client.change()["documentKey"] == ["_id": "function"])
        try await fixture.postgres.execute(
            "update \"\(app.id)/Test\".\"Note\" set document = jsonb_set(document, '{team}', '\"blue\"') where _id = 's:device'"
        )
        let moved = try await client.change()
        // A document that moves to another partition is updated, not deleted.
        #expect(moved["operationType"] == "update")
        #expect(moved["fullDocument"] == ["_id": "device", "team": "blue"])
        try await fixture.postgres.execute("delete from \"\(app.id)/Test\".\"Note\" where _id = 's:function'")
        #expect(try await client.change()["operationType"] == "delete")
    }

    @Test func `changes too large for the topic are in the stream`() async throws {
        let app = TriggerApp(rules: ["Note": Self.everybody])
        let (fixture, token) = try await TriggersFixture.deployed(app)
        let clients = [
            try await fixture.watch("Note", of: app, token: token("ann")),
            try await fixture.watch("Note", of: app, token: token("bob")),
        ]
        let text = String(repeating: "100% ", count: 400_000)
        let notes = fixture.store.collection("Note", database: "Test", app: app.id)
        _ = try await notes.insertOne(["_id": 1, "text": .string(text)])
        _ = try await notes.insertOne(["_id": 2])
        for client in clients {
            // In any order, since they are different documents.
            let texts = [
                try await client.change()["fullDocument"]?["text"]?.stringValue,
                try await client.change()["fullDocument"]?["text"]?.stringValue,
            ]
            #expect(texts.contains(text) && texts.contains(nil))
        }
    }

    @Test func `rules see the user's custom data of the time of the change`() async throws {
        let app = TriggerApp(
            rules: [
                "Note": """
                {"roles": [{"name": "team", "apply_when": {"team": "%%user.custom_data.team"}, "read": true}]}
                """
            ],
            more: [
                "auth/custom_user_data.json": """
                {"enabled": true, "mongo_service_name": "mongodb-atlas", "database_name": "Test",
                 "collection_name": "Member", "user_id_field": "user"}
                """
            ])
        let (fixture, token) = try await TriggersFixture.deployed(app)
        let members = fixture.store.collection("Member", database: "Test", app: app.id)
        let notes = fixture.store.collection("Note", database: "Test", app: app.id)
        _ = try await members.insertOne(["_id": 1, "user": "ann", "team": "red"])
        let client = try await fixture.watch("Note", of: app, token: token("ann"))
        _ = try await notes.insertOne(["_id": 1, "team": "red"])
        #expect(try await client.change()["documentKey"] == ["_id": 1])
        _ = try await members.updateOne(["user": "ann"], ["$set": ["team": "blue"]])
        // The topic's partitions aren't ordered, so notes are written until the change of team is known.
        let writer = Task {
            var n: Int32 = 1
            while !Task.isCancelled {
                n += 1
                _ = try await notes.insertMany([
                    ["_id": .int32(n * 2), "team": "red"], ["_id": .int32(n * 2 + 1), "team": "blue"],
                ])
                try await Task.sleep(for: .milliseconds(100))
            }
        }
        while try await client.change()["fullDocument"]?["team"] != "blue" {}
        writer.cancel()
        _ = await writer.result
        _ = try await notes.insertMany([["_id": "old", "team": "red"], ["_id": "new", "team": "blue"]])
        var last = try await client.change()
        while last["documentKey"]?["_id"]?.stringValue == nil { last = try await client.change() }
        #expect(last["documentKey"] == ["_id": "new"])
    }

    @Test func `functions in rules decide about each change`() async throws {
        let app = TriggerApp(
            functions: ["hiddenAllows": "exports = (owner, user) => owner === user;"],
            rules: [
                "Note": """
                {"roles": [{"name": "f", "apply_when": {"%%true": {"%function": {"name": "hiddenAllows",
                 "arguments": ["%%root.owner", "%%user.id"]}}}, "read": true}]}
                """
            ])
        let (fixture, token) = try await TriggersFixture.deployed(app)
        let client = try await fixture.watch("Note", of: app, token: token("ann"))
        let notes = fixture.store.collection("Note", database: "Test", app: app.id)
        _ = try await notes.insertMany([["_id": 1, "owner": "bob"], ["_id": 2, "owner": "ann"]])
        #expect(try await client.change()["documentKey"] == ["_id": 2])
    }
}
