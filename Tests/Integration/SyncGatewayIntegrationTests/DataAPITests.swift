import DocumentModel
import DocumentStore
import ServiceEngines
import SyncProtocol
import TestSupport
import Testing

@Suite struct DataAPITests {
    private static let open = #"{"roles": [{"name": "all", "apply_when": {}, "read": true, "write": true}]}"#

    private func client() async throws -> DataAPIClient {
        try await GatewayFixture.shared().deploy(
            "api-" + ObjectId().hexString,
            rules: [
                "default_rule": Self.open,
                "Test/Own/rules": """
                {"roles": [{"name": "owner", "apply_when": {"owner": "%%user.id"}, "read": true, "write": true}]}
                """,
            ])
    }

    @Test func `each action answers in Atlas' shape`() async throws {
        let client = try await client()
        func answer(_ action: String, _ parts: Document, status: Int = 200) async throws -> Value {
            let answer = try await client.call(action, "Task", parts)
            #expect(answer.status == status, "\(action): \(answer.text)")
            #expect(answer.type == "application/ejson")
            return answer.body
        }
        let one: Document = ["_id": 1, "text": "one", "n": 1]
        #expect(try await answer("insertOne", ["document": .document(one)], status: 201) == ["insertedId": 1])
        #expect(
            try await answer(
                "insertMany", ["documents": [["_id": 2, "text": "two", "n": 2], ["_id": 3, "n": 3]]], status: 201)
                == ["insertedIds": [2, 3]])
        #expect(try await answer("findOne", ["filter": ["_id": 1]]) == ["document": .document(one)])
        #expect(try await answer("findOne", ["filter": ["_id": 9]]) == ["document": .null])
        #expect(
            try await answer(
                "find",
                ["filter": ["n": ["$gt": 1]], "sort": ["n": -1], "skip": 1, "limit": 1, "projection": ["_id": 0]])
                == ["documents": [["text": "two", "n": 2]]])
        #expect(
            try await answer("updateOne", ["filter": ["_id": 1], "update": ["$inc": ["n": 5]]])
                == ["matchedCount": 1, "modifiedCount": 1])
        #expect(
            try await answer("updateMany", ["filter": [:], "update": ["$set": ["done": true]]])
                == ["matchedCount": 3, "modifiedCount": 3])
        // Without operators, the fields are set.
        #expect(
            try await answer("updateMany", ["filter": ["_id": 3], "update": ["text": "three"]])
                == ["matchedCount": 1, "modifiedCount": 1])
        #expect(
            try await answer("findOne", ["filter": ["_id": 3]])
                == ["document": ["_id": 3, "n": 3, "done": true, "text": "three"]])
        #expect(
            try await answer("updateOne", ["filter": ["_id": 4], "update": ["$set": ["n": 4]], "upsert": true])
                == ["matchedCount": 0, "modifiedCount": 0, "upsertedId": 4])
        #expect(
            try await answer("replaceOne", ["filter": ["_id": 2], "replacement": ["text": "new"]])
                == ["matchedCount": 1, "modifiedCount": 1])
        #expect(
            try await answer("aggregate", ["pipeline": [["$match": ["n": ["$gt": 3]]], ["$count": "count"]]])
                == ["documents": [["count": 2]]])
        #expect(try await answer("deleteOne", ["filter": ["_id": 2]]) == ["deletedCount": 1])
        #expect(try await answer("deleteMany", ["filter": [:]]) == ["deletedCount": 3])
    }

    @Test func `answers are plain JSON unless Extended JSON is asked for`() async throws {
        let client = try await client()
        let document = """
            {"_id": {"$oid": "5f0000000000000000000001"}, "when": {"$date": {"$numberLong": "1654589430998"}},
             "long": {"$numberLong": "50"}, "price": {"$numberDecimal": "9.50"}, "half": 0.5,
             "bytes": {"$binary": {"base64": "AQI=", "subType": "05"}}, "nan": {"$numberDouble": "NaN"}}
            """
        let place = #""dataSource": "mongodb-atlas", "database": "Test", "collection": "Plain""#
        let inserted = try await client.post(
            "insertOne", "{\(place), \"document\": \(document)}", contentType: "application/json; charset=utf-8",
            accept: nil)
        #expect(inserted.status == 201)
        #expect(inserted.type == "application/json")
        #expect(inserted.text == #"{"insertedId":"5f0000000000000000000001"}"#)
        let plain = try await client.post("findOne", "{\(place)}", accept: "application/json")
        #expect(
            plain.text == """
                {"document":{"_id":"5f0000000000000000000001","when":"2022-06-07T08:10:30.998Z","long":50,\
                "price":"9.50","half":0.5,"bytes":{"Subtype":5,"Data":"AQI="},"nan":"NaN"}}
                """)
        let extended = try await client.post("findOne", "{\(place)}", accept: "text/html, application/ejson")
        #expect(extended.text.contains(#""long":{"$numberLong":"50"}"#))
    }

    @Test func `a page may call from the origins that the app allows`() async throws {
        let client = try await GatewayFixture.shared().deploy(
            "api-" + ObjectId().hexString, rules: ["default_rule": Self.open], origins: ["https://shop.example"])
        let body = #"{"dataSource": "mongodb-atlas", "database": "Test", "collection": "Task"}"#
        let allowed = try await client.post("find", body, origin: "https://shop.example")
        #expect(allowed.status == 200 && allowed.allowedOrigin == "https://shop.example")
        let refused = try await client.post("find", body, origin: "https://else.example")
        #expect(refused.status == 403)
        #expect(refused.code == "OriginNotAllowed", "\(refused.text)")
        #expect(refused.allowedOrigin == nil)
        let own = try await client.post("find", body, origin: "http://127.0.0.1:\(client.fixture.port)")
        #expect(own.status == 200, "\(own.text)")
    }

    @Test func `the data API acts under the rules of the caller`() async throws {
        let ann = try await client()
        var bob = ann
        bob.user = "bob"
        #expect(try await ann.call("insertOne", "Own", ["document": ["_id": 1, "owner": "ann"]]).status == 201)
        #expect(try await bob.call("find", "Own").body == ["documents": []])
        let forged = try await bob.call("insertOne", "Own", ["document": ["owner": "ann"]])
        #expect(forged.status == 403)
        #expect(forged.code == "NoMatchingRuleFound")
        // For his writes, what he may not read doesn't exist.
        for id in [1, 2] as [Int32] {
            #expect(try await bob.call("deleteOne", "Own", ["filter": ["_id": .int32(id)]]).body == ["deletedCount": 0])
            let taken = try await bob.call(
                "updateOne", "Own", ["filter": ["_id": .int32(id)], "update": ["$set": ["owner": "bob"]]])
            #expect(taken.status == 200)
            #expect(taken.body == ["matchedCount": 0, "modifiedCount": 0])
        }
        #expect(try await ann.call("find", "Own").body["documents"]?.arrayCount == 1)
    }

    @Test func `credentials in headers, as on Atlas, are refused by name`() async throws {
        let client = try await client()
        for (name, value) in ["apiKey": "k", "email": "ann@example.com", "jwtTokenString": "e.e.e"] {
            let answer = try await client.post("find", "{}", credentials: [name: value])
            #expect(answer.status == 401 && answer.code == "InvalidSession" && answer.text.contains(name))
        }
    }

    @Test func `a request that can't be answered has a code`() async throws {
        let client = try await client()
        let place = #""dataSource": "mongodb-atlas", "database": "Test", "collection": "Bad""#
        let refusals: [(String, Int, String, String)] = [
            ("NotFound", 404, "dance", "{\(place)}"), ("BadRequest", 400, "find", "{"),
            ("BadRequest", 400, "find", #"{\#(place), "filter": {"a": 1, "a": 2}}"#),
            ("MissingParameter", 400, "find", "{}"),
            ("ServiceNotFound", 400, "find", #"{"dataSource": "other", "database": "a", "collection": "b"}"#),
            ("MissingParameter", 400, "insertOne", "{\(place)}"),
            ("MissingParameter", 400, "updateOne", #"{\#(place), "filter": {}}"#),
            ("InvalidParameter", 400, "find", #"{\#(place), "filter": 1}"#),
            ("InvalidParameter", 400, "find", #"{\#(place), "limit": -1}"#),
            ("InvalidParameter", 400, "find", #"{\#(place), "limit": 1.5}"#),
            ("InvalidParameter", 400, "find", #"{\#(place), "limit": 50001}"#),
            ("InvalidParameter", 400, "find", #"{\#(place), "maxTimeMS": -1}"#),
            ("InvalidParameter", 400, "find", #"{\#(place), "filtr": {"a": 1}}"#),
            ("InvalidParameter", 400, "find", #"{\#(place), "session": 1}"#),
            ("InvalidParameter", 400, "updateOne", #"{\#(place), "filter": {}, "update": {}, "upsrt": true}"#),
            ("InvalidParameter", 400, "aggregate", #"{\#(place), "pipeline": {}}"#),
            ("MongoDBError", 400, "find", #"{\#(place), "filter": {"a": {"$no": 1}}}"#),
            ("MongoDBError", 400, "insertMany", #"{\#(place), "documents": [{"_id": 1}, {"_id": 1}]}"#),
            ("NoMatchingRuleFound", 403, "aggregate", #"{\#(place), "pipeline": [{"$out": "Copy"}]}"#),
        ]
        for (code, status, action, body) in refusals {
            let answer = try await client.post(action, body)
            #expect(answer.status == status, "\(action) \(body)")
            #expect(answer.code == code, "\(action) \(body)")
        }
        let misspelled = try await client.post("find", #"{\#(place), "filtr": {"a": 1}}"#)
        #expect(misspelled.text.contains("BSON field 'find.filtr' is an unknown field."), "\(misspelled.text)")
        #expect(try await client.post("find", "{\(place)}", contentType: "text/plain").code == "InvalidParameter")
        #expect(try await client.post("find", "{\(place)}", token: "forged").code == "InvalidSession")
    }

    @Test func `an app whose export doesn't enable the data API has none`() async throws {
        let fixture = try await GatewayFixture.shared()
        let app = try await fixture.deploy(
            "api-" + ObjectId().hexString, rules: ["default_rule": Self.open],
            more: ["http_endpoints/data_api_config.json": ""])
        for (action, parts) in [("find", [:]), ("insertOne", ["document": ["_id": 1]])] as [(String, Document)] {
            let answer = try await app.call(action, "Task", parts)
            #expect(answer.status == 404)
            #expect(answer.code == "NotFound", "\(answer.text)")
        }
    }

    @Test func `an app may close the data API, or open it to some`() async throws {
        let fixture = try await GatewayFixture.shared()
        let closed = try await fixture.deploy(
            "api-" + ObjectId().hexString, rules: ["default_rule": Self.open],
            more: ["http_endpoints/data_api_config.json": #"{"disabled": true}"#])
        #expect(try await closed.call("find", "Task").status == 404)
        let some = try await fixture.deploy(
            "api-" + ObjectId().hexString, rules: ["default_rule": Self.open],
            more: [
                "http_endpoints/data_api_config.json":
                    #"{"disabled": false, "can_evaluate": {"%%user.id": "ann"}, "return_type": "EJSON"}"#
            ])
        #expect(try await some.call("find", "Task").status == 200)
        var bob = some
        bob.user = "bob"
        #expect(try await bob.call("find", "Task").code == "NoMatchingRuleFound")
    }

    @Test func `the user that the data API runs as has present custom data, and isn't blocked`() async throws {
        let fixture = try await GatewayFixture.shared()
        let client = try await fixture.deploy(
            "api-" + ObjectId().hexString,
            rules: [
                "default_rule": """
                {"roles": [{"name": "service", "apply_when": {"%%user.custom_data.role": "service"}, "read": true, "write": true}]}
                """
            ],
            more: [
                "http_endpoints/data_api_config.json": #"{"disabled": false, "run_as_user_id": "robot"}"#,
                "auth/custom_user_data.json": """
                {"enabled": true, "mongo_service_name": "mongodb-atlas", "database_name": "Test", "collection_name": "Custom",
                 "user_id_field": "user"}
                """,
            ])
        #expect(try await client.call("insertOne", "Task", ["document": ["_id": 1]]).code == "NoMatchingRuleFound")
        _ = try await fixture.store.collection("Custom", database: "Test", app: client.app)
            .insertOne(["user": "robot", "role": "service"])
        #expect(try await client.call("insertOne", "Task", ["document": ["_id": 1]]).status == 201)
        let table = ShutOutTable(fixture.postgres)
        try await table.add("robot", app: client.app, reason: .disabled)
        #expect(try await client.call("find", "Task").code == "UserDisabled")
        try await table.add("robot", app: client.app, reason: .deleted)
        #expect(try await client.call("find", "Task").code == "UserNotFound")
        try await table.remove("robot", app: client.app)
        #expect(try await client.call("find", "Task").status == 200)
    }

    @Test func `what the data API writes reaches devices`() async throws {
        let fixture = try await GatewayFixture.shared()
        let partition = fixture.partition()
        let name = String(partition.text.dropFirst(2))
        let conversation = String(name.dropFirst("conversation=".count))
        // The rules of chat messages call a function, which looks for the conversation in the user's document.
        let user = "user-of-" + conversation
        _ = try await fixture.store.collection("User", database: "RChat", app: GatewayFixture.app).insertOne([
            "_id": .string(user), "partition": .string("user=" + user), "userName": "ann",
            "conversations": [
                [
                    "id": .string(conversation), "displayName": "Chat", "unreadCount": .int64(0),
                    "members": [["userName": "ann", "membershipStatus": "Membership active"]],
                ]
            ],
        ])
        try await fixture.grant(.read, to: user, in: partition)
        let device = try await fixture.device(user)
        _ = try await device.open(partition)
        let api = DataAPIClient(fixture: fixture, app: GatewayFixture.app, user: user)
        let message = """
            {"dataSource": "mongodb-atlas", "database": "RChat", "collection": "ChatMessage", "document":
             {"_id": "\(name)/1", "partition": "\(name)", "author": "\(user)@chat.example", "text": "hello",
              "timestamp": {"$date": "2026-01-01T00:00:00Z"}}}
            """
        let token = try fixture.token(user, data: ["email": .string("\(user)@chat.example")])
        let answer = try await api.post("insertOne", message, token: token)
        #expect(answer.status == 201, "\(answer.text)")
        let download = try await device.download()
        #expect(download.changes.count == 1)
        // Another user's name is refused.
        let forged = message.replacing("\(user)@chat", with: "bob@chat").replacing("/1\"", with: "/2\"")
        #expect(try await api.post("insertOne", forged, token: token).code == "NoMatchingRuleFound")
    }
}
