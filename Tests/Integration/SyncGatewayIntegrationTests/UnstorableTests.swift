import DocumentModel
import DocumentStore
import Foundation
import FoundationNetworking
import SyncEngine
import SyncProtocol
import TestSupport
import Testing

/// A value that Postgres can't store or compute with is the caller's fault: the error says so and isn't retryable.
@Suite struct UnstorableTests {
    private static let open = #"{"roles": [{"name": "all", "apply_when": {}, "read": true, "write": true}]}"#
    private static let nul = "a\0b"

    private func client() async throws -> DataAPIClient {
        try await GatewayFixture.shared().deploy("api-" + ObjectId().hexString, rules: ["default_rule": Self.open])
    }

    /// Documents with U+0000 where it can't be stored.
    private static let documents: [Document] = [
        Document(fields: [.init(nul, 1)]), ["inner": .document(Document(fields: [.init(nul, 1)]))],
        ["list": [.document(Document(fields: [.init(nul, 1)]))]], ["code": .code(Code(nul))],
        ["code": .code(Code("f", scope: Document(fields: [.init(nul, 1)])))],
        ["code": .code(Code(nul, scope: ["x": 1]))], ["_id": .string(nul)], ["_id": .code(Code(nul))],
    ]

    @Test func `no write with U+0000 in a wrong place is stored, and the caller is told where`() async throws {
        let client = try await client()
        for document in Self.documents {
            var whole = document
            if whole["_id"] == nil { whole["_id"] = .objectId(ObjectId()) }
            let calls: [(String, Document)] = [
                ("insertOne", ["document": .document(whole)]), ("insertMany", ["documents": [.document(whole)]]),
                ("replaceOne", ["filter": ["x": 1], "replacement": .document(whole), "upsert": true]),
                ("updateOne", ["filter": ["x": 1], "update": ["$set": .document(document)], "upsert": true]),
            ]
            for (action, parts) in calls {
                let answer = try await client.call(action, "Task", parts)
                #expect(answer.status == 400, "\(action) \(document): \(answer.status) \(answer.text)")
            }
        }
        let answer = try await client.call(
            "insertOne", "Task", ["document": ["a": ["b": .document(Document(fields: [.init(Self.nul, 1)]))]]])
        #expect(answer.code == "MongoDBError" && answer.text.contains("U+0000"), "\(answer.text)")
        #expect(try await client.call("find", "Task", ["filter": [:]]).body == ["documents": []])
    }

    @Test func `no way of writing makes a document that can't be read`() async throws {
        let client = try await client()
        let hidden: Value = ["b": 1, "c": ["$literal": 2]]
        #expect(
            try await client.call("insertOne", "Task", ["document": ["_id": 1, "x": hidden, "y": "never"]]).status
                == 201)
        let name: Value = ["$literal": "$date"]
        for update: Value in [
            [["$set": ["x": ["$arrayToObject": [[["k": name, "v": "$y"]]]]]]],
            [["$set": ["x": ["$setField": ["field": name, "input": [:], "value": "$y"]]]]],
            [["$replaceWith": ["$setField": ["field": name, "input": "$$ROOT", "value": "$y"]]]],
            ["$set": ["x.$date": "never"]], ["$rename": ["y": "x.$date"]], ["$rename": ["y": "$numberInt"]],
        ] {
            let answer = try await client.call("updateOne", "Task", ["filter": ["_id": 1], "update": update])
            #expect(answer.status == 400, "\(update): \(answer.status) \(answer.text)")
        }
        let stages: [Value] = [
            ["$set": ["x": ["$setField": ["field": name, "input": [:], "value": "$y"]]]], ["$merge": ["into": "Task"]],
        ]
        let merged = try await client.call("aggregate", "Task", ["pipeline": .array(stages)])
        #expect((400..<500).contains(merged.status), "\(merged.status) \(merged.text)")
        let all = try await client.call("find", "Task", ["filter": [:]])
        #expect(all.status == 200 && all.body["documents"]?.arrayValue?.count == 1, "\(all.text)")
        let deepest = (0..<98).reduce(Value.document(["a": 1])) { inner, _ in ["a": inner] }
        for (id, value, status) in [(2, deepest, 201), (3, ["a": deepest] as Value, 400)] {
            let document: Document = ["_id": .int32(Int32(id)), "x": value]
            let answer = try await client.call("insertOne", "Task", ["document": .document(document)])
            #expect(answer.status == status, "\(id): \(answer.text)")
        }
    }

    @Test func `a string's value may have U+0000, and comes back unchanged`() async throws {
        let client = try await client()
        let document: Document = ["_id": 1, "text": .string(Self.nul), "list": [.string("\0")], "x": .symbol(Self.nul)]
        #expect(try await client.call("insertOne", "Task", ["document": .document(document)]).status == 201)
        for filter: Document in [["_id": 1], ["text": .string(Self.nul)], ["list": .string("\0")]] {
            let found = try await client.call("findOne", "Task", ["filter": .document(filter)])
            #expect(found.body == ["document": .document(document)], "\(found.text)")
        }
    }

    @Test func `no query with a value that Postgres can't compute with makes the client retry`() async throws {
        let client = try await client()
        for n in 1...3 {
            let document: Document = [
                "_id": .int32(Int32(n)), "n": .int32(Int32(n)), "text": "some words", "when": .date(5),
            ]
            #expect(try await client.call("insertOne", "Task", ["document": .document(document)]).status == 201)
        }
        let key = Document(fields: [.init(Self.nul, 1)])
        let huge: Value = .int64(.max)
        func check(_ action: String, _ parts: Document) async throws {
            let answer = try await client.call(action, "Task", parts)
            #expect((200..<500).contains(answer.status), "\(action) \(parts): \(answer.status) \(answer.text)")
        }
        func find(_ filter: Document, _ more: Document = [:]) async throws {
            var parts = more
            parts["filter"] = .document(filter)
            try await check("find", parts)
        }
        func aggregate(_ stages: Value...) async throws { try await check("aggregate", ["pipeline": .array(stages)]) }
        func search(_ search: Value) async throws { try await aggregate(["$search": search]) }
        let text: Value = .string(Self.nul)
        let field: Value = .string("$" + Self.nul)

        try await find(key)
        try await find([:], ["sort": .document(key)])
        try await find([:], ["projection": .document(key)])
        try await find([:], ["hint": text])
        try await find([:], ["skip": huge, "limit": huge])
        try await find([:], ["limit": huge])
        try await find(["_id": text])
        try await find(["_id": ["$in": [text]]])
        try await find(["n": ["$gt": text]])
        try await find(["text": .regex(RegularExpression("a\\x00b"))])
        try await find(["$text": ["$search": text]])
        try await find(["code": .code(Code(Self.nul))])
        try await find(["n": ["$mod": [huge, huge]]])
        try await find(["when": ["$lt": .date(.max)]])
        try await find(["when": ["$gt": .date(.min)]])
        try await find(["n": ["$lt": .double(.infinity)]])
        try await find(["n": .decimal128(Decimal128("1E+6144") ?? .nan)])
        try await find(["n": ["$size": huge]])
        try await find(["$expr": ["$eq": [field, 1]]])
        try await find(["$expr": ["$divide": ["$n", 0]]])
        try await check("updateOne", ["filter": .document(key), "update": ["$set": ["x": 1]]])
        try await check("updateOne", ["filter": ["_id": 1], "update": ["$rename": ["n": text]]])
        try await check("updateOne", ["filter": ["_id": 1], "update": ["$inc": ["n": huge, "m": huge]]])
        try await check("updateMany", ["filter": [:], "update": ["$unset": .document(key)]])
        try await check("deleteMany", ["filter": ["_id": text]])

        try await aggregate(["$group": ["_id": field]])
        try await aggregate(["$group": ["_id": "$n", "x": ["$sum": field]]])
        try await aggregate(["$sort": .document(key)])
        try await aggregate(["$skip": huge], ["$limit": huge])
        try await aggregate(["$limit": huge], ["$skip": huge])
        try await aggregate(["$lookup": ["from": text, "localField": "a", "foreignField": "b", "as": "c"]])
        try await aggregate(["$unionWith": text])
        try await aggregate(["$out": text])
        try await aggregate(["$merge": ["into": text]])
        try await aggregate(["$project": ["x": ["$divide": ["$n", 0]]]])
        try await aggregate(["$project": ["x": ["$dateAdd": ["startDate": "$when", "unit": "year", "amount": huge]]]])
        try await aggregate(["$project": ["x": ["$toDate": 1e300]]])

        try await search(["text": ["query": text, "path": "text"]])
        try await search(["text": ["query": "words", "path": text]])
        try await search(["text": ["query": "words", "path": "text", "score": ["boost": ["value": 1e308]]]])
        try await search(["near": ["path": "n", "origin": 1, "pivot": 0]])
        try await search(["near": ["path": "n", "origin": .double(.infinity), "pivot": 1]])
        try await search(["near": ["path": "n", "origin": 1e308, "pivot": 1e-308]])
        try await search(["near": ["path": "when", "origin": .date(.max), "pivot": huge]])
        try await search(["range": ["path": "when", "gt": .date(.min), "lt": .date(.max)]])
        try await search(["range": ["path": "n", "gt": 1e308]])
        for bound: Value in [.double(.nan), .double(.infinity), .double(-.infinity), .int64(.max), .int64(.min)] {
            try await search(["range": ["path": "n", "gt": bound]])
            try await search(["equals": ["path": "n", "value": bound]])
            try await search(["in": ["path": "n", "value": [bound]]])
        }
        try await search(["wildcard": ["query": .string("*" + Self.nul), "path": "text"]])
        try await search(["equals": ["path": "n", "value": text]])
        try await search(["in": ["path": "n", "value": [text]]])
        try await search(["exists": ["path": text]])
        try await search(["autocomplete": ["query": text, "path": "text"]])
        try await search(["phrase": ["query": text, "path": "text"]])
        let bounds: [[Value]] = [[3, 3], [5, 1], [.double(.nan), 1], [.double(-.infinity), .double(.infinity)]]
        for bounds in bounds {
            let facet: Document = ["type": "number", "path": "n", "boundaries": .array(bounds)]
            let facets: Document = [
                "operator": ["exists": ["path": "n"]], "facets": .document(["f": .document(facet)]),
            ]
            try await aggregate(["$searchMeta": ["facet": .document(facets)]])
        }
    }

    @Test func `a name with U+0000 is refused`() async throws {
        let client = try await client()
        for (name, collection) in [
            ("database", "Task"), ("collection", "Task"), ("collection", Self.nul), ("dataSource", "Task"),
        ] {
            for action in ["find", "insertOne", "aggregate", "deleteMany", "updateOne"] {
                let answer = try await client.call(
                    action, collection,
                    [
                        name: .string(Self.nul), "filter": [:], "document": ["a": 1], "pipeline": [],
                        "update": ["$set": ["a": 1]],
                    ])
                #expect(answer.status == 400, "\(action) with \(name): \(answer.status) \(answer.text)")
            }
        }
        let whole =
            #"{"dataSource": "mongodb-atlas", "database": "Test", "collection": "Task", "filter": {"a\u0000": 1}}"#
        #expect((200..<500).contains(try await client.post("find", whole).status))
    }

    @Test(arguments: [
        "/app/%00/endpoint/data/v1/action/find", "/app/x/endpoint/data/v1/action/fi%00nd", "/health/live?a=%00",
        "/health/live?%00=a", "/health/live?a=%ff",
    ])
    func `a path or a query that isn't valid text is a bad request`(_ target: String) async throws {
        let fixture = try await GatewayFixture.shared()
        let url = try #require(URL(string: "http://127.0.0.1:\(fixture.port)\(target)"))
        let response = try await URLSession.shared.data(from: url).1 as? HTTPURLResponse
        #expect(response?.statusCode == 400)
    }

    // MARK: Devices

    @Test func `a device is told which of its changesets can't be read`() async throws {
        let fixture = try await GatewayFixture.shared()
        let partition = fixture.partition()
        try await fixture.grant(.write, to: "ann", in: partition)
        let device = try await fixture.device("ann")
        _ = try await device.open(partition)
        let id = "deep-\(partition.text)"
        let deepest = (0..<98).reduce(Value.document(["a": 1])) { inner, _ in ["a": inner] }
        try await device.upload(1, insert: id, into: partition, ["x": ["b": 1, "c": "never"], "deep": deepest])
        guard case .ack = try await device.answer() else { throw Device.Unexpected(what: "no ack for 100 levels") }
        var version: Int64 = 1
        for (operators, isStored) in [
            (["$set": ["deep": ["a": deepest]]], false), (["$set": ["deep": deepest]], true),
            (["$rename": ["x.c": "x.$date"]], false), (["$set": ["x.$oid": "no"]], false), (["$set": ["y": 1]], true),
        ] as [(Document, Bool)] {
            version += 1
            try await device.send(
                .upload(
                    .init(
                        partition: partition, sentAt: 0,
                        changesets: [
                            Changeset(
                                version: version, clock: HybridTime(milliseconds: version),
                                operations: [
                                    .init(
                                        collection: "ChatMessage", id: .string(id),
                                        kind: .update(operators: operators, arrayFilters: []))
                                ])
                        ])))
            let answer = try await device.answer()
            switch answer {
            case .ack: #expect(isStored, "\(operators)")
            case .rejected(let rejection):
                #expect(!isStored && [.notStorable, .badUpdate].contains(rejection.reason.code), "\(rejection)")
            default: throw Device.Unexpected(what: "\(operators): \(answer)")
            }
        }
    }

    @Test func `a device's changeset that can't be stored is rejected, and the next one isn't`() async throws {
        let fixture = try await GatewayFixture.shared()
        let partition = fixture.partition()
        try await fixture.grant(.write, to: "ann", in: partition)
        let device = try await fixture.device("ann")
        _ = try await device.open(partition)
        var version: Int64 = 0
        for document in Self.documents {
            version += 1
            try await device.upload(version, insert: "\(version)-\(partition.text)", into: partition, document)
            let answer = try await device.answer()
            guard case .rejected(let rejection) = answer else {
                throw Device.Unexpected(what: "\(document): \(answer)")
            }
            #expect(
                [.notStorable, .badId, .schemaViolation].contains(rejection.reason.code), "\(document): \(rejection)")
        }
        version += 1
        try await device.upload(version, insert: "good-\(partition.text)", into: partition, ["text": .string(Self.nul)])
        guard case .ack = try await device.answer() else { throw Device.Unexpected(what: "no ack") }
        // A collection with an impossible name counts as one that isn't synced.
        version += 1
        try await device.send(
            .upload(
                .init(
                    partition: partition, sentAt: 0,
                    changesets: [
                        Changeset(
                            version: version, clock: HybridTime(milliseconds: 1),
                            operations: [.init(collection: Self.nul, id: "a", kind: .delete)])
                    ])))
        guard case .rejected(let rejection) = try await device.answer() else {
            throw Device.Unexpected(what: "no answer")
        }
        #expect(rejection.reason.code == .unknownCollection)
        device.close()
    }

    @Test func `a partition or a device with U+0000 in its name is refused permanently`() async throws {
        let fixture = try await GatewayFixture.shared()
        let device = try await fixture.device("ann")
        try await device.send(
            .subscribe(partition: Partition(text: "s:" + Self.nul), checkpoint: Revision(epoch: 1, number: 0)))
        let report = try await device.error()
        #expect(report.code == .unknownPartition && report.action == .close)
        let other = try await Device(port: fixture.port)
        try await other.send(.hello(.init(device: Self.nul, token: fixture.token("ann"))))
        #expect(try await other.error().code == .badFrame)
    }
}
