import DocumentModel
import Foundation
import TestSupport
import Testing

@testable import Auth

/// Documents, indexes and partitions by the administration API.
@Suite struct AdminDocumentsTests {
    private let app: AppClient
    private let owner: String
    private let reader: String

    init() async throws {
        let fixture = try await AuthFixture.shared()
        app = try await fixture.app()
        let tokens = AdminTokens(client: fixture.postgres)
        owner = try await tokens.make(named: "owner", roles: [.deploy], app: app.app, days: nil)
        reader = try await tokens.make(named: "reader", roles: [.readOnly], app: app.app, days: nil)
    }

    private func call(
        _ action: AdminAction, _ path: KeyValuePairs<String, String> = [:],
        query: [(name: String, value: String?)] = [],
        body: String? = nil, token: String? = nil
    ) async throws -> AppClient.Answer {
        let call = AdminCall(
            action,
            [
                "app": app.app, "database": "shop", "collection": "Order",
                "method": path.first { $0.key == "method" }?.value ?? "",
                "index": path.first { $0.key == "index" }?.value ?? "",
                "key": path.first { $0.key == "key" }?.value ?? "",
            ], pairs: query)
        let method = try #require(AppClient.Method(rawValue: action.route.method.rawValue))
        return try await app.sendText(method, call.target, body, token: token ?? owner)
    }

    private func read(_ method: String, _ body: String? = nil) async throws -> AppClient.Answer {
        try await call(.readDocuments, ["method": method], body: body, token: reader)
    }

    private func write(_ method: String, _ body: String) async throws -> AppClient.Answer {
        try await call(.writeDocuments, ["method": method], body: body)
    }

    /// The records, without those of calls that had to come again.
    private func records() async throws -> [[String]] {
        try await AuthFixture.shared().postgres.query(
            """
            select action, coalesce(target, '-'), outcome from partita.auth_audit
            where app = $1 and outcome <> 'ServiceUnavailable' order by number
            """, [.text(app.app)]
        ).decode((String, String, String).self).map { [$0, $1, $2] }
    }

    @Test func `documents are written with their record, and read back`() async throws {
        let many = try await write("insertMany", #"{"documents": [{"_id": 1, "n": {"$numberLong": "5"}}, {"_id": 2}]}"#)
        #expect(many.status == 200 && many.json["result"]?["insertedIds"] == [1, 2], "\(many.json)")
        let found = try await read("find", #"{"filter": {"_id": 1}}"#).json
        #expect(found["isComplete"] == true && found["documents"]?.arrayValue?.count == 1, "\(found)")
        #expect(found["documents"]?[0]?["n"]?.isIdentical(to: .int64(5)) == true)
        #expect(try await read("countDocuments").json["result"] == .int64(2))
        #expect(try await read("findOne", #"{"filter": {"_id": 3}}"#).json["result"] == .null)
        let sum = try await read("aggregate", #"{"pipeline": [{"$count": "n"}]}"#).json
        #expect(sum["documents"]?[0]?["n"]?.int64Value == 2)
        #expect(try await read("explain").json["result"]?.documentValue != nil)
        #expect(
            try await write("updateOne", #"{"filter": {"_id": 2}, "update": {"$set": {"a": 1}}}"#).json["result"]?[
                "modifiedCount"]?.int64Value == 1)
        #expect(try await write("deleteMany", #"{"filter": {}}"#).json["result"]?["deletedCount"]?.int64Value == 2)
        #expect(
            try await records() == [
                ["document.write", "shop.Order insertMany", "done"], ["document.read", "shop.Order find", "done"],
                ["document.read", "shop.Order countDocuments", "done"],
                ["document.read", "shop.Order findOne", "done"],
                ["document.read", "shop.Order aggregate", "done"], ["document.read", "shop.Order explain", "done"],
                ["document.write", "shop.Order updateOne", "done"],
                ["document.write", "shop.Order deleteMany", "done"],
            ])
    }

    @Test func `a write that fails has changed nothing, and has the record of its failure only`() async throws {
        #expect(try await write("insertOne", #"{"document": {"_id": 2}}"#).status == 200)
        let refused = try await write("insertMany", #"{"documents": [{"_id": 1}, {"_id": 2}], "ordered": false}"#)
        #expect(refused.status == 400 && refused.code == "MongoDBError", "\(refused.json)")
        #expect(refused.json["error"]?.stringValue?.contains("E11000") == true, "\(refused.json)")
        #expect(try await read("countDocuments").json["result"] == .int64(1))
        let outcomes = try await records().filter { $0[0] == "document.write" }.map { $0[2] }
        #expect(outcomes == ["done", "MongoDBError"])
    }

    @Test func `a write whose record can't be written isn't done`() async throws {
        #expect(try await write("insertOne", #"{"document": {"_id": "x"}}"#).status == 200)
        let postgres = try await AuthFixture.shared().postgres
        let name = "refused_\(ObjectId().hexString)"
        _ = try await postgres.query(
            "alter table partita.auth_audit add constraint \(name) check (app <> '\(app.app)') not valid")
        let refused = try await write("insertOne", #"{"document": {"_id": "y"}}"#)
        _ = try await postgres.query("alter table partita.auth_audit drop constraint \(name)")
        #expect(refused.status >= 500, "\(refused.json)")
        #expect(try await write("insertOne", #"{"document": {"_id": "z"}}"#).status == 200)
        let place = try #require(
            try await postgres.query(
                "select schema_name, table_name from partita.collections where app = $1", [.text(app.app)]
            ).decode((String, String).self).first)
        let ids = try await postgres.query(
            """
            select body->>'_id' from "\(place.0)"."\(place.1)" order by 1
            """
        ).decode(String.self)
        #expect(ids == ["x", "z"])
    }

    @Test func `who may read can't write, by no method and no pipeline`() async throws {
        let writing = #"{"document": {"_id": 1}}"#
        let direct = try await call(.writeDocuments, ["method": "insertOne"], body: writing, token: reader)
        #expect(direct.status == 403 && direct.code == "AdminRoleMissing")
        for (method, body) in [
            ("insertOne", writing), ("deleteMany", #"{"filter": {}}"#), ("bulkWrite", #"{"operations": []}"#),
            ("aggregate", #"{"pipeline": [{"$match": {}}, {"$out": "Copy"}]}"#),
            ("aggregate", #"{"pipeline": [{"$merge": {"into": "Copy"}}]}"#), ("drop", "{}"), ("", "{}"),
        ] {
            let answer = try await read(method, body)
            #expect([400, 404].contains(answer.status), "\(method): \(answer.json)")
        }
        #expect(try await call(.writeDocuments, ["method": "find"]).code == "InvalidParameter")
        #expect(try await write("insertOne", #"{"document": {"_id": 7}}"#).status == 200)
        let copied = try await write("aggregate", #"{"pipeline": [{"$out": "Copy"}]}"#)
        #expect(copied.status == 200, "\(copied.json)")
        let tables = try await AuthFixture.shared().postgres.query(
            "select name from partita.collections where app = $1 order by name", [.text(app.app)]
        ).decode(String.self)
        #expect(tables == ["Copy", "Order"])
    }

    @Test func `bad calls have clear errors`() async throws {
        for (method, body, code) in [
            ("find", "no JSON", "BadRequest"), ("find", "[]", "BadRequest"),
            ("find", #"{"filtr": {}}"#, "MongoDBError"),
            ("find", #"{"filter": {"$bad": 1}}"#, "MongoDBError"),
            ("find", #"{"filter": {}, "skip": -1}"#, "MongoDBError"),
            ("distinct", "{}", "MongoDBError"), ("aggregate", #"{"pipeline": [{"$nope": 1}]}"#, "MongoDBError"),
        ] {
            let answer = try await read(method, body)
            #expect(answer.status == 400 && answer.code == code, "\(method) \(body): \(answer.json)")
        }
        let large = #"{"document": {"t": "\#(String(repeating: "x", count: AdminCall.documentsLimit))"}}"#
        let answer = try await write("insertOne", large)
        #expect(answer.status == 413 && answer.code == "RequestEntityTooLarge", "\(answer.json)")
    }

    @Test func `an answer has a thousand documents and some megabytes at most, and says that there are more`()
        async throws
    {
        for part in 0..<3 {
            let documents = (0..<400).map { #"{"_id": \#(part * 400 + $0)}"# }.joined(separator: ",")
            #expect(try await write("insertMany", "{\"documents\": [\(documents)]}").status == 200)
        }
        let all = try await read("find").json
        #expect(all["documents"]?.arrayValue?.count == 1000 && all["isComplete"] == false)
        let rest = try await read("find", #"{"skip": 1000}"#).json
        #expect(rest["documents"]?.arrayValue?.count == 200 && rest["isComplete"] == true)
        let exact = try await read("find", #"{"limit": 1000}"#).json
        #expect(exact["documents"]?.arrayValue?.count == 1000 && exact["isComplete"] == true)
        let text = String(repeating: "x", count: 3 << 20)
        for id in ["a", "b", "c"] {
            #expect(try await write("insertOne", #"{"document": {"_id": "\#(id)", "t": "\#(text)"}}"#).status == 200)
        }
        let bytes = try await read("find", #"{"filter": {"t": {"$exists": true}}}"#).json
        #expect(bytes["documents"]?.arrayValue?.count == 2 && bytes["isComplete"] == false)
        let values = try await read("distinct", #"{"field": "t", "filter": {"_id": "a"}}"#)
        #expect(values.status == 200)
    }

    @Test func `indexes are made, listed and dropped, each with its record`() async throws {
        let place: [(name: String, value: String?)] = [("database", "shop"), ("collection", "Order")]
        let made = try await call(.createIndex, query: place, body: #"{"key": {"a": 1}}"#)
        #expect(made.json["index"] == "a_1", "\(made.json)")
        let list = try await call(.listIndexes, query: place, token: reader).json["indexes"]?.arrayValue
        #expect(list?.compactMap { $0["name"]?.stringValue } == ["_id_", "a_1"])
        for (body, code) in [
            (#"{"key": {"a": "hashed"}}"#, "MongoDBError"), (#"{"key": {"a": 1}, "unique": true}"#, "MongoDBError"),
            (#"{"key": {"b": 1}, "unique": "yes"}"#, "MongoDBError"), ("{}", "MongoDBError"), ("no JSON", "BadRequest"),
        ] {
            let answer = try await call(.createIndex, query: place, body: body)
            #expect(answer.status == 400 && answer.code == code, "\(body): \(answer.json)")
        }
        #expect(try await call(.createIndex, query: place, body: "{}", token: reader).code == "AdminRoleMissing")
        #expect(try await call(.listIndexes, query: [("collection", "Order")]).code == "MissingParameter")
        #expect(try await call(.listIndexes, query: [("database", "shop")]).code == "MissingParameter")
        #expect(try await call(.dropIndex, ["index": "a_1"], query: place).status == 204)
        let gone = try await call(.dropIndex, ["index": "a_1"], query: place)
        #expect(gone.status == 400 && gone.code == "MongoDBError")
        let records = try await records().filter { $0[0] != "index.list" }
        #expect(records.first == ["index.create", "shop Order", "done"])
        #expect(records.contains(["index.drop", "shop Order a_1", "done"]))
    }

    @Test func `a partition is shown, and served anew`() async throws {
        #expect(try await write("insertOne", #"{"document": {"_id": 1}}"#).status == 200)
        let shown = try await call(.showPartition, query: [("partition", "team=1")], token: reader)
        #expect(shown.status == 200 && shown.json["partition"] == "s:team=1" && shown.json["head"] == .null)
        #expect(shown.json["devices"] == [] && shown.json["isComplete"] == true, "\(shown.json)")
        #expect(try await call(.showPartition, token: reader).code == "MissingParameter")
        #expect(try await call(.serveAnew).code == "MissingParameter")
        #expect(try await call(.serveAnew, query: [("all", "perhaps")]).code == "InvalidParameter")
        #expect(try await call(.serveAnew, query: [("all", "true")], token: reader).code == "AdminRoleMissing")
        let all = try await call(.serveAnew, query: [("all", "true")])
        #expect(all.status == 200 && all.json["partitions"]?.int64Value ?? 0 > 0, "\(all.json)")
        #expect(try await call(.serveAnew, query: [("partition", "none")]).json["partitions"]?.int64Value == 0)
        #expect(try await records().contains(["partition.serve-anew", "none", "done"]))
    }

    @Test func `server keys are made, disabled and deleted, and the log has no key`() async throws {
        let made = try await call(.makeServerKey, ["key": "importer"])
        let key = try #require(made.json["key"]?.stringValue, "\(made.json)")
        func login() async throws -> AppClient.Answer {
            try await app.call(.post, "auth/providers/api-key/login", ["key": .string(key)])
        }
        #expect(try await login().status == 200)
        let list = try await call(.listServerKeys, token: reader)
        #expect(list.json["keys"]?[0]?["name"] == "importer" && !"\(list.json)".contains(key))
        #expect(try await call(.makeServerKey, ["key": "importer"]).code == "APIKeyAlreadyExists")
        #expect(try await call(.disableServerKey, ["key": "importer"]).status == 204)
        #expect(try await login().code == "UserDisabled")
        #expect(try await call(.enableServerKey, ["key": "importer"]).status == 204)
        #expect(try await call(.deleteServerKey, ["key": "importer"], token: reader).code == "AdminRoleMissing")
        #expect(try await call(.deleteServerKey, ["key": "importer"]).status == 204)
        #expect(try await call(.deleteServerKey, ["key": "importer"]).code == "APIKeyNotFound")
        let records = try await records()
        #expect(records.contains(["server-key.create", "importer", "done"]) && !"\(records)".contains(key))
    }

    @Test func `a dead letter or a log of an app without either is no error`() async throws {
        let token = try await AdminTokens(client: try await AuthFixture.shared().postgres).make(
            named: "triggers", roles: [.triggers], app: app.app, days: nil)
        #expect(try await call(.listDeadLetters, token: token).json["deadLetters"] == [])
        #expect(try await call(.readLogs, token: token).json["lines"] == [])
        for number in ["0", "x", "-1", "9223372036854775808"] {
            let answer = try await app.sendText(
                .get, "/api/admin/v1/apps/\(app.app)/dead-letters/\(number)", nil, token: token)
            #expect(answer.code == "InvalidParameter", "\(number): \(answer.json)")
        }
        let none = try await app.sendText(.delete, "/api/admin/v1/apps/\(app.app)/dead-letters/1", nil, token: token)
        #expect(none.status == 404 && none.code == "dead-letter-unknown")
    }
}
