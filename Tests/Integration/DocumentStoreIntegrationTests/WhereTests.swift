import DocumentModel
import DocumentStore
import Testing

/// Which parts of a query Postgres evaluates, and which the library.
@Suite struct WhereTests {
    private func filled(_ fixture: StoreFixture) async throws -> DocumentCollection {
        let messages = fixture.store.collection("ChatMessage", database: "RChat", app: StoreFixture.app)
        try await messages.insertMany(
            (0..<50).map { number in
                [
                    "_id": .string("m\(number)"), "n": .int32(Int32(number)), "room": .string("r\(number % 5)"),
                    "place": ["city": .string("c\(number % 10)")], "done": number % 2 == 0 ? true : .null,
                    "at": .date(Int64(number)),
                ]
            })
        return messages
    }

    @Test func `Postgres computes the counts that apps need`() async throws {
        try await StoreFixture.with { fixture in
            let messages = try await filled(fixture)
            for (filter, count) in [
                (["n": 7], 1), (["n": ["$gte": 10, "$lt": 20]], 10), (["place.city": "c3"], 5),
                (["done": ["$ne": true]], 25), (["done": .null], 25), (["gone": ["$exists": false]], 50),
                (["room": ["$nin": ["r1", "r2"]]], 30), (["at": ["$gt": .date(39)]], 10),
                (["room": ["$gte": "r4"]], 10), (["place.city": ["$in": ["c1", .null]]], 5),
                (["$nor": [["room": "r1"], ["n": ["$lt": 40]]]], 8),
            ] as [(Document, Int)] {
                let explained = try await messages.explainCount(filter)
                #expect(explained["here"] == [], "\(filter)")
                #expect(try await messages.countDocuments(filter) == count, "\(filter)")
            }
            #expect(
                try await messages.countDocuments(["n": ["$gte": 10]], options: FindOptions(skip: 5, limit: 7)) == 7)
        }
    }

    @Test func `a pipeline's first stages are a find, and explain shows what Postgres groups`() async throws {
        try await StoreFixture.with { fixture in
            let messages = try await filled(fixture)
            try await messages.createIndex(IndexModel([.init("room"), .init("n")]))
            for (stages, places) in [
                (
                    [["$match": ["room": "r1"]], ["$sort": ["n": -1]], ["$limit": 2], ["$project": ["n": 1]]],
                    ["both", "postgres", "postgres", "here"]
                ),
                ([["$match": ["room": "r1"]], ["$skip": 1], ["$limit": 2]], ["postgres", "postgres", "postgres"]),
                ([["$match": ["room": "r1"]], ["$match": ["n": 6]], ["$unwind": "$n"]], ["both", "both", "here"]),
                ([["$sort": ["place.city": 1]], ["$limit": 1]], ["postgres", "postgres"]),
                ([["$sort": ["place.city": 1]], ["$limit": 1000]], ["here", "here"]),
                (
                    [
                        ["$match": ["n": ["$gt": 5]]], ["$group": ["_id": "$room", "n": ["$sum": "$n"]]],
                        ["$sort": ["n": 1]],
                    ],
                    ["postgres", "postgres", "here"]
                ),
                ([["$match": ["n": ["$mod": [2, 0]]]], ["$count": "n"]], ["both", "here"]),
            ] as [([Document], [String])] {
                let explained = try await messages.explainAggregate(stages)
                let shown = explained["stages"]?.arrayValue ?? []
                #expect(shown.compactMap { $0["in"]?.stringValue } == places, "\(stages)")
            }
            let last = try await messages.aggregate([
                ["$match": ["room": "r1"]], ["$match": ["n": ["$lt": 40]]], ["$sort": ["n": -1]], ["$skip": 1],
                ["$limit": 5], ["$limit": 2], ["$project": ["_id": 0, "n": 1]],
            ])
            #expect(last == [["n": 31], ["n": 26]])
        }
    }

    @Test func `numbers and dates that Postgres can't store as numbers are compared like them`() async throws {
        try await StoreFixture.with { fixture in
            let messages = fixture.store.collection("ChatMessage", database: "RChat", app: StoreFixture.app)
            let far: Int64 = -9_100_000_000_000_000
            try await messages.insertMany([
                ["_id": "huge", "n": .double(1e300)], ["_id": "long", "n": .int64(1 << 60)],
                ["_id": "double", "n": .double(0x1p60)], ["_id": "near", "at": .date(0)],
                ["_id": "far", "at": .date(far)],
            ])
            for (filter, ids) in [
                (["n": .int64(1 << 60)], ["double", "long"]), (["n": .double(0x1p60)], ["double", "long"]),
                (["n": ["$gt": .int64(1 << 60)]], ["huge"]), (["n": ["$lt": .int64(1 << 61)]], ["double", "long"]),
                (["n": ["$in": [.int64(1 << 60)]]], ["double", "long"]), (["at": ["$gt": .date(far)]], ["near"]),
                (["n": ["$ne": .int64(1 << 60)]], ["far", "huge", "near"]),
                (["at": ["$not": ["$gte": .date(far)]]], ["double", "huge", "long"]),
            ] as [(Document, [String])] {
                let found = try await messages.find(filter).compactMap { $0["_id"]?.stringValue }.sorted()
                #expect(found == ids, "\(filter)")
                #expect(try await messages.countDocuments(filter) == ids.count, "\(filter)")
            }
        }
    }

    @Test func `a wrong query is refused even if the collection doesn't exist`() async throws {
        try await StoreFixture.with { fixture in
            let none = fixture.store.collection("None", database: "RChat", app: StoreFixture.app)
            for operation in [
                { _ = try await none.find(["a": ["$no": 1]]) },
                { _ = try await none.countDocuments(["a": ["$no": 1]]) },
                { _ = try await none.distinct("a", ["a": ["$no": 1]]) },
                { _ = try await none.find(options: FindOptions(sort: ["a": 5])) },
                { _ = try await none.find(options: FindOptions(projection: ["a": 1, "b": 0])) },
                { _ = try await none.explain(["a": ["$no": 1]]) },
            ] as [@Sendable () async throws -> Void] {
                await #expect(throws: DocumentStoreError.self) { try await operation() }
            }
            let found = try await none.find()
            #expect(found.isEmpty)
        }
    }

    @Test func `the NOW of a query is the current time`() async throws {
        try await StoreFixture.with { fixture in
            let messages = try await filled(fixture)
            #expect(try await messages.countDocuments(["$expr": ["$lt": ["$at", "$$NOW"]]]) == 50)
            let found = try await messages.findOne([:], options: FindOptions(projection: ["now": "$$NOW"]))
            guard case .date(let now)? = found?["now"] else { return #expect(Bool(false), "no date") }
            #expect(now > 1_600_000_000_000)
        }
    }

    @Test func `skip and limit accept the largest and smallest numbers`() async throws {
        try await StoreFixture.with { fixture in
            let messages = try await filled(fixture)
            for sort in [nil, ["_id": 1], ["n": 1]] as [Document?] {
                let none = try await messages.find(options: FindOptions(sort: sort, skip: .max, limit: .max))
                #expect(none.isEmpty)
                #expect(try await messages.find(options: FindOptions(sort: sort, limit: .min)).count == 50)
            }
            #expect(try await messages.aggregate([["$skip": .int64(.max)], ["$skip": .int64(.max)]]).isEmpty)
            #expect(try await messages.aggregate([["$skip": 1], ["$limit": .int64(.max)]]).count == 49)
        }
    }

    @Test func `a transaction's size is bounded, and operations that commit in parts use smaller ones`() async throws {
        try await StoreFixture.with { fixture in
            let store = DocumentStore(client: fixture.client, maximumTransactionBytes: 100_000)
            store.define(try fixture.store.storage(of: StoreFixture.app))
            let messages = store.collection("ChatMessage", database: "RChat", app: StoreFixture.app)
            let filler = String(repeating: "x", count: 1000)
            for part in 0..<4 {
                try await messages.insertMany(
                    (0..<50).map { ["_id": .string("m\(part).\($0)"), "filler": .string(filler)] })
            }
            let error = await #expect(throws: DocumentStoreError.self) {
                try await store.withTransaction(app: StoreFixture.app) { session in
                    try await session.collection("ChatMessage", database: "RChat").updateMany([:], ["$set": ["n": 1]])
                }
            }
            #expect(error?.mongoCode == 257)
            #expect(try await messages.countDocuments(["n": 1]) == 0)
            #expect(try await messages.updateMany([:], ["$set": ["n": 1]]).modifiedCount == 200)
            #expect(try await messages.deleteMany(["n": 1]) == 200)
        }
    }
}
