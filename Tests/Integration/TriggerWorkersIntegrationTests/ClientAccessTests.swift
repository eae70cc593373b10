import DocumentModel
import TestSupport
import Testing

/// Clients' access to documents: by functions that run as them, and by direct calls of collections.
@Suite struct ClientAccessTests {
    private static let functions = [
        "userNotes": """
        exports = async () => {
            const notes = context.services.get("mongodb-atlas").db("Test").collection("Note");
            return { system: context.runningAsSystem(), notes: await notes.find({}).sort({ _id: 1 }).toArray() };
        };
        """,
        "userForge": """
        exports = async () => {
            const notes = context.services.get("mongodb-atlas").db("Test").collection("Note");
            try { await notes.insertOne({ owner: "bob" }); } catch (error) { return error.name; }
        };
        """,
        "userTransfer": """
        exports = async (to) => {
            const client = context.services.get("mongodb-atlas");
            const notes = client.db("Test").collection("Note"), session = client.startSession();
            await session.withTransaction(async () => {
                await notes.insertOne({ _id: "in", owner: context.user.id }, { session });
                await notes.updateOne({ _id: 1 }, { $set: { owner: to } }, { session });
            });
        };
        """,
        "hiddenAll": """
        exports = async () => {
            const notes = context.services.get("mongodb-atlas").db("Test").collection("Note");
            return { system: context.runningAsSystem(), count: await notes.count({}) };
        };
        """,
        "userBoth": """
        exports = async () => {
            const inner = await context.functions.execute("hiddenAll");
            const notes = context.services.get("mongodb-atlas").db("Test").collection("Note");
            return { inner, system: context.runningAsSystem(), count: await notes.count({}) };
        };
        """,
        "userAsBob":
            "exports = async () => ({ id: context.user.id, notes: await context.functions.execute('userNotes') });",
        "userGuarded": "exports = () => context.request.requestHeaders['Content-Type'];",
    ]

    private func app() async throws -> (fixture: TriggersFixture, app: TriggerApp, token: String) {
        let fixture = try await TriggersFixture.shared()
        let app = TriggerApp(
            functions: Self.functions,
            rules: [
                "Note": """
                {"roles": [{"name": "owner", "apply_when": {"owner": "%%user.id"}, "read": true, "write": true}]}
                """
            ],
            settings: [
                "userAsBob": #""run_as_user_id": "bob""#,
                "userGuarded": #""can_evaluate": {"%%user.id": "ann", "%%request.httpMethod": "POST"}"#,
            ])
        try await fixture.deploy(app)
        let token = try await eventually("the signing key is known") {
            let token = try fixture.token(app)
            return try await fixture.call("known", app: app.id, token: token).status == 200 ? token : nil
        }
        try await fixture.store.collection("Note", database: "Test", app: app.id).insertMany([
            ["_id": 1, "owner": "ann"], ["_id": 2, "owner": "bob"], ["_id": 3, "owner": "bob"],
        ])
        return (fixture, app, token)
    }

    private func code(_ text: String) -> String? { (try? ExtendedJSON.parse(text))?["error_code"]?.stringValue }

    @Test func `a function that doesn't run as system sees and writes what its caller may`() async throws {
        let (fixture, app, token) = try await app()
        func call(_ name: String, _ arguments: String = "[]", token: String) async throws -> Value {
            let answer = try await fixture.call(name, arguments, app: app.id, token: token)
            #expect(answer.status == 200, "\(answer.text)")
            return try ExtendedJSON.parse(answer.text)
        }
        #expect(try await call("userNotes", token: token) == ["system": false, "notes": [["_id": 1, "owner": "ann"]]])
        #expect(try await call("userForge", token: token) == "NoMatchingRuleFound")
        let both = try await call("userBoth", token: token)
        #expect(both["inner"] == ["system": true, "count": 3])
        #expect(both["count"] == 1)
        #expect(both["system"] == false)
        let asBob = try await call("userAsBob", token: token)
        #expect(asBob["id"] == "bob")
        #expect(asBob["notes"]?["notes"]?.arrayCount == 2)
    }

    @Test func `a transaction of a function that the rules refuse leaves nothing`() async throws {
        let (fixture, app, token) = try await app()
        let refused = try await fixture.call("userTransfer", #"["bob"]"#, app: app.id, token: token)
        #expect(refused.status == 400)
        #expect(refused.text.contains("NoMatchingRuleFound"))
        let notes = fixture.store.collection("Note", database: "Test", app: app.id)
        #expect(try await notes.countDocuments() == 3)
        #expect(try await fixture.call("userTransfer", #"["ann"]"#, app: app.id, token: token).status == 200)
        #expect(try await notes.countDocuments() == 4)
    }

    @Test func `rules that are deployed also apply to calls that had begun`() async throws {
        let watch = """
            exports = async () => {
                const database = context.services.get("mongodb-atlas").db("Test");
                const notes = database.collection("Note"), seen = [], end = Date.now() + 60000;
                do {
                    seen.push((await notes.find({}).toArray()).length);
                    if (seen.length === 5) await database.collection("Begun").insertOne({});
                    await new Promise(resolve => setTimeout(resolve, 50));
                } while (Date.now() < end && seen[seen.length - 1] > 0);
                return seen;
            };
            """
        let allows = #"{"roles": [{"name": "all", "apply_when": {}, "read": true, "write": true}]}"#
        var app = TriggerApp(functions: ["userWatch": watch], rules: ["Note": allows, "Begun": allows])
        let fixture = try await TriggersFixture.shared()
        try await fixture.deploy(app)
        let token = try await eventually("the signing key is known") { [app] in
            let token = try fixture.token(app)
            return try await fixture.call("known", app: app.id, token: token).status == 200 ? token : nil
        }
        _ = try await fixture.store.collection("Note", database: "Test", app: app.id).insertOne(["_id": 1])
        let running = Task { [id = app.id] in try await fixture.call("userWatch", "[]", app: id, token: token) }
        try await eventually("it has begun", within: .seconds(60)) {
            [begun = fixture.store.collection("Begun", database: "Test", app: app.id)] in
            try await begun.countDocuments() == 1
        }
        app.rules = ["Note": #"{"roles": [{"name": "none", "apply_when": {}, "read": false, "write": false}]}"#]
        try await fixture.deploy(app)
        let seen = try ExtendedJSON.parse(try await running.value.text).arrayValue ?? []
        #expect(seen.first?.intValue == 1 && seen.last?.intValue == 0, "\(seen)")
    }

    @Test func `for a function's call the rules apply, whether a collection syncs or not`() async throws {
        let fixture = try await TriggersFixture.shared()
        let insert = """
            exports = async (name, id) => {
                const one = context.services.get("mongodb-atlas").db("Test").collection(name);
                try { return (await one.insertOne({ _id: id, team: "nobody" })).insertedId; } catch (error) { return error.name; }
            };
            """
        let allows = #"{"roles": [{"name": "all", "apply_when": {}, "read": true, "write": true}]}"#
        let forbids = #"{"roles": [{"name": "none", "apply_when": {}, "read": false, "write": false}]}"#
        let schema = #"{"title": "T", "bsonType": "object", "properties": {"team": {"bsonType": "string"}}}"#
        let app = TriggerApp(
            functions: ["userInsert": insert, "systemInsert": insert],
            rules: [
                "SyncedOpen": allows, "SyncedClosed": forbids, "ServerOpen": allows, "ServerClosed": forbids,
            ],
            more: [
                "sync/config.json": """
                {"state": "enabled", "service_name": "mongodb-atlas", "database_name": "Test",
                 "partition": {"key": "team", "type": "string", "required": false,
                               "permissions": {"read": false, "write": false}}}
                """,
                "data_sources/mongodb-atlas/Test/SyncedOpen/schema.json": schema,
                "data_sources/mongodb-atlas/Test/SyncedClosed/schema.json": schema,
            ])
        try await fixture.deploy(app)
        let token = try await eventually("the signing key is known") {
            let token = try fixture.token(app)
            return try await fixture.call("known", app: app.id, token: token).status == 200 ? token : nil
        }
        func call(_ function: String, _ collection: String, _ id: Int) async throws -> Value {
            let answer = try await fixture.call(
                function, #"["\#(collection)", \#(id)]"#, app: app.id, token: token)
            return try ExtendedJSON.parse(answer.text)
        }
        for name in ["SyncedOpen", "ServerOpen"] { #expect(try await call("userInsert", name, 1).intValue == 1) }
        for name in ["SyncedClosed", "ServerClosed"] {
            #expect(try await call("userInsert", name, 1) == "NoMatchingRuleFound")
            #expect(try await call("systemInsert", name, 2).intValue == 2)
        }
        for (name, partition) in [
            ("SyncedOpen", "s:nobody"), ("SyncedClosed", "s:nobody"), ("ServerOpen", "i:Test.ServerOpen:"),
            ("ServerClosed", "i:Test.ServerClosed:"),
        ] {
            let rows = try await fixture.postgres.query("select partition from \"\(app.id)/Test\".\"\(name)\"")
            #expect(try rows.count == 1 && rows[0].decode(0, as: String.self).hasPrefix(partition), "\(name)")
        }
    }

    @Test func `a function's own rule decides who may call it`() async throws {
        let (fixture, app, token) = try await app()
        let answer = try await fixture.call("userGuarded", app: app.id, token: token)
        #expect(answer.status == 200, "\(answer.text)")
        let other = try await fixture.call("userGuarded", app: app.id, token: try fixture.token(app, user: "bob"))
        #expect(other.status == 403)
        #expect(code(other.text) == "NoMatchingRuleFound")
    }

    @Test func `a client's calls of a collection have the shapes that SDKs read`() async throws {
        let (fixture, app, token) = try await app()
        func call(_ name: String, _ parts: String) async throws -> String {
            try await fixture.post(
                """
                {"name": "\(name)", "service": "mongodb-atlas",
                 "arguments": [{"database": "Test", "collection": "Note"\(parts.isEmpty ? "" : ", " + parts)}]}
                """, app: app.id, token: token
            ).text
        }
        let ann = #"{"_id":{"$numberInt":"1"},"owner":"ann"}"#
        #expect(
            try await call("find", #""query": {}, "sort": {"_id": 1}, "limit": {"$numberLong": "5"}"#) == "[\(ann)]")
        #expect(try await call("findOne", #""query": {"_id": 1}, "project": {"owner": 1}"#) == ann)
        #expect(try await call("findOne", #""query": {"_id": 2}"#) == "null")
        #expect(try await call("count", #""query": {}"#) == #"{"$numberLong":"1"}"#)
        #expect(
            try await call("insertOne", #""document": {"_id": "new", "owner": "ann"}"#) == #"{"insertedId":"new"}"#)
        #expect(
            try await call("insertMany", #""documents": [{"_id": "a", "owner": "ann"}, {"_id": "b", "owner": "ann"}]"#)
                == #"{"insertedIds":["a","b"]}"#)
        #expect(
            try await call("updateOne", #""query": {"_id": "a"}, "update": {"$set": {"n": 1}}, "upsert": false"#)
                == #"{"matchedCount":{"$numberInt":"1"},"modifiedCount":{"$numberInt":"1"}}"#)
        #expect(
            try await call(
                "updateMany", #""query": {"_id": "c"}, "update": {"$set": {"owner": "ann"}}, "upsert": true"#)
                == #"{"matchedCount":{"$numberInt":"0"},"modifiedCount":{"$numberInt":"0"},"upsertedId":"c"}"#)
        #expect(
            try await call(
                "findOneAndUpdate",
                #""filter": {"_id": "a"}, "update": {"$inc": {"n": 1}}, "returnNewDocument": true, "projection": {"n": 1}"#
            )
                == #"{"_id":"a","n":{"$numberInt":"2"}}"#)
        #expect(
            try await call("findOneAndReplace", #""filter": {"_id": "a"}, "update": {"owner": "ann"}"#)
                == #"{"_id":"a","owner":"ann","n":{"$numberInt":"2"}}"#)
        #expect(
            try await call("findOneAndDelete", #""filter": {"_id": "a"}, "projection": {"_id": 1}"#) == #"{"_id":"a"}"#)
        #expect(
            try await call(
                "aggregate", #""pipeline": [{"$sort": {"_id": -1}}, {"$limit": 1}, {"$project": {"_id": 1}}]"#)
                == #"[{"_id":"new"}]"#)
        #expect(try await call("deleteOne", #""query": {"_id": "b"}"#) == #"{"deletedCount":{"$numberInt":"1"}}"#)
        #expect(try await call("deleteMany", #""query": {"owner": "ann"}"#) == #"{"deletedCount":{"$numberInt":"3"}}"#)
        #expect(try await call("deleteMany", #""query": {"_id": 2}"#) == #"{"deletedCount":{"$numberInt":"0"}}"#)
        #expect(code(try await call("insertOne", #""document": {"owner": "bob"}"#)) == "NoMatchingRuleFound")
        #expect(code(try await call("find", #""query": {"a": {"$no": 1}}"#)) == "MongoDBError")
        #expect(code(try await call("aggregate", #""pipeline": [{"$out": "x"}]"#)) == "NoMatchingRuleFound")
    }
}
