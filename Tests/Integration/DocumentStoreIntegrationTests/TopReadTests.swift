import DocumentModel
import DocumentStore
import QueryLanguage
import SyncEngine
import Testing

/// The first documents of a sort without an index, which Postgres chooses, against the engine in memory.
struct TopReadTests {
    /// Values that Postgres compares, of all these types, many of them equal.
    private static let plain: [Value] = [
        1, 2, 2.0, -1, 0, -0.0, 1.5, 1e300, -1e-300, .int64(7), .int64(1 << 53), "a", "b", "B", "ä", "", "a b", "aa",
        .string(String(repeating: "long ", count: 100)), true, false, .null, .date(0), .date(-5),
        .date(1_700_000_000_000),
        .objectId(ObjectId(high: 1, low: 2)), .objectId(ObjectId(high: 1 << 63, low: 0)),
    ]
    /// Values that are sorted here.
    private static let odd: [Value] = [
        [], [1, "z"], [3, [4]], .document([:]), .document(["a": 1]), .double(.nan), .double(.infinity), .int64(.max),
        .int64((1 << 53) + 1), "a\0b", .binary(Binary([1, 2], subtype: 4)), .minKey, .maxKey, .undefined,
        .decimal128(Decimal128(rounding: 1.1)),
    ]

    private func documents(odd count: Int, _ generator: inout SeededGenerator) -> [Document] {
        (0..<400).map { number in
            func value() -> Value {
                let values = number < count ? Self.odd + Self.plain : Self.plain
                return values.randomElement(using: &generator) ?? .null
            }
            var document: Document = ["_id": .string("\(number * 7919 % 400)")]
            if Int.random(in: 0..<8, using: &generator) > 0 { document["x"] = value() }
            switch Int.random(in: 0..<8, using: &generator) {
            case 0: break
            case 1 where number < count: document["y"] = [["z": value()], ["z": value()]]
            case 2: document["y"] = value()
            default: document["y"] = .document(["z": value()])
            }
            document["group"] = .int32(Int32(number % 3))
            return document
        }
    }

    @Test(arguments: [(1, 0), (2, 30), (3, 200)] as [(UInt64, Int)])
    func `they are the same, and in the same order`(seed: UInt64, odd: Int) async throws {
        try await StoreFixture.with { fixture in
            var generator = SeededGenerator(seed: seed)
            let documents = documents(odd: odd, &generator)
            let collection = fixture.store.collection("Things", database: "RChat", app: StoreFixture.app)
            try await collection.insertMany(documents)
            let filters: [Document] = [
                [:], ["group": 1], ["x": ["$ne": "a"]], ["x": ["$gt": 1]], ["y.z": ["$exists": true]],
                ["$expr": ["$eq": ["$group", 2]]],
            ]
            for filter in filters {
                for sort: Document in [
                    ["x": 1], ["x": -1], ["y.z": 1], ["y.z": -1, "x": 1], ["group": -1, "x": -1, "_id": 1], ["y": 1],
                ] {
                    var expected = documents.filter { (try? Filter(filter))?.matches($0, now: 0) == true }
                    try Sort(sort).sort(&expected)
                    for (skip, limit) in [(0, 1), (0, 20), (5, 20), (300, 50), (100, 156)] {
                        let found = try await collection.find(
                            filter, options: FindOptions(sort: sort, skip: skip, limit: limit))
                        #expect(
                            found.map { $0["_id"] } == expected.dropFirst(skip).prefix(limit).map { $0["_id"] },
                            "seed \(seed): \(filter) \(sort) \(skip) \(limit)")
                    }
                }
            }
        }
    }

    @Test func `equal documents have the natural order, or its reverse, on every page`() async throws {
        try await StoreFixture.with { fixture in
            let collection = fixture.store.collection("Things", database: "RChat", app: StoreFixture.app)
            try await collection.insertMany(
                (0..<300).map { ["_id": .int32(Int32(299 - $0)), "x": .int32(Int32($0 / 100))] })
            func ids(_ skip: Int, hint: Value? = nil) async throws -> [Value?] {
                let options = FindOptions(sort: ["x": 1], skip: skip, limit: 20, hint: hint)
                return try await collection.find([:], options: options).map { $0["_id"] }
            }
            var pages: [Value?] = []
            for page in 0..<10 { pages += try await ids(page * 20) }
            #expect(pages == (0..<200).map { .int32(Int32(299 - $0)) })
            #expect(try await ids(0, hint: ["$natural": -1]) == (0..<20).map { .int32(Int32(200 + $0)) })
        }
    }

    @Test func `equal documents of a range of ids have the order of the ids on every page`() async throws {
        try await StoreFixture.with { fixture in
            let collection = fixture.store.collection("Things", database: "RChat", app: StoreFixture.app)
            let names = (0..<400).map { Value.string("\(1000 + $0)") }
            try await collection.insertMany(names.reversed().map { ["_id": $0, "x": 1] })
            var found: [Value?] = []
            for skip in stride(from: 0, to: 400, by: 50) {
                let options = FindOptions(sort: ["x": 1], skip: skip, limit: 50)
                found += try await collection.find(["_id": ["$gte": "1000"]], options: options).map { $0["_id"] }
            }
            #expect(found == names)
        }
    }

    @Test func `Postgres does the sort of a page, and says so`() async throws {
        try await StoreFixture.with { fixture in
            let collection = fixture.store.collection("Things", database: "RChat", app: StoreFixture.app)
            try await collection.insertMany((0..<3).map { ["_id": .int32(Int32($0)), "x": 1] })
            func here(_ filter: Document, _ options: FindOptions) async throws -> Value? {
                try await collection.explain(filter, options: options)["here"]
            }
            #expect(try await here([:], FindOptions(sort: ["x": 1], limit: 20)) == [])
            #expect(try await here(["x": ["$gt": 0]], FindOptions(sort: ["x": 1], skip: 236, limit: 20)) == ["filter"])
            #expect(try await here([:], FindOptions(sort: ["x": 1], skip: 237, limit: 20)) == ["sort", "limit"])
            #expect(try await here([:], FindOptions(sort: ["x": 1])) == ["sort"])
            let pipeline: [Document] = [["$match": ["x": 1]], ["$sort": ["x": -1]], ["$limit": 2]]
            #expect(try await collection.aggregate(pipeline).map { $0["_id"] } == [0, 1])
        }
    }
}
