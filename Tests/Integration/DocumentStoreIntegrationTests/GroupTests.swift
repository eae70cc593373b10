import DocumentModel
import DocumentStore
import QueryLanguage
import Testing

/// Postgres computes the same groups as the engine, including the types of numbers.
@Suite struct GroupTests {
    private static let stages: [[Document]] = [
        [["$group": ["_id": "$key", "count": ["$sum": 1], "sum": ["$sum": "$number"], "mean": ["$avg": "$number"]]]],
        [["$group": ["_id": .null, "count": ["$count": [:]], "sum": ["$sum": "$number"]]]],
        [["$group": ["_id": ["a": "$key", "b": "$place.city"], "sum": ["$sum": "$place.size"]]]],
        [["$group": ["_id": "$place.city", "n": ["$sum": 3]]]],
        [["$sortByCount": "$key"]],
        [["$count": "all"]],
        [["$match": ["_id": ["$in": ["d1", "d2", "d3", "d40"]]]], ["$group": ["_id": "$key", "n": ["$sum": 1]]]],
        [["$match": ["_id": "nobody"]], ["$count": "all"]],
        [["$match": ["_id": "nobody"]], ["$group": ["_id": .null, "n": ["$sum": 1]]]],
        [["$group": ["_id": "$key", "sum": ["$sum": "$number"]]], ["$match": ["sum": ["$gt": 10]]]],
        [["$match": ["number": ["$gt": 1]]], ["$group": ["_id": "$key", "n": ["$sum": 1]]]],
        [["$match": ["place.city": "c1", "number": ["$ne": 7]]], ["$group": ["_id": "$key", "n": ["$sum": 1]]]],
        [["$match": ["key": .null]], ["$count": "all"]],
    ]

    /// Values that differ between the form for Postgres and the body, with a name for the difference.
    private static let kinds: [String: [Value]] = [
        "integers": [.int32(1), .int32(7), .int32(-3), .int32(.max)],
        "longs": [.int64(1), .int64(7), .int64(1 << 40)],
        "doubles": [.double(0.1), .double(0.2), .double(1), .double(-2.5), .double(1e16), .double(1e-7)],
        "scores": [
            .double(0.1), .double(12.99), .double(1e15), .double(0.0004), .double(-1e15), .double(3e-9), .double(0.3),
        ],
        "mixed": [.int32(1), .int64(1), .double(1), .double(0.3), .null, "text", .bool(true), .array([.int32(5)])],
        "rare": [.decimal128(Decimal128("1.5") ?? .init(high: 0, low: 0)), .int64(.max), .double(.nan), .int32(2)],
    ]

    /// Makes Postgres process even the smallest table in parallel workers only, without the leader.
    private static let sharing = [
        "min_parallel_table_scan_size": "0", "parallel_setup_cost": "0", "parallel_tuple_cost": "0",
        "parallel_leader_participation": "off",
    ]

    @Test(arguments: kinds.keys.sorted(), [[:], sharing])
    func `a group has the same numbers as in the engine`(kind: String, settings: [String: String]) async throws {
        let values = Self.kinds[kind] ?? []
        try await StoreFixture.with(partitionKey: nil, settings: settings) { fixture in
            let collection = fixture.store.collection("Numbers", database: "RChat", app: StoreFixture.app)
            let keys: [Value?] = ["a", "b", .null, nil, .objectId(ObjectId(high: 1, low: 2)), .date(5), .bool(false)]
            let documents = (0..<60).map { number -> Document in
                var document: Document = ["_id": .string("d\(number)")]
                document["key"] = number % 9 < keys.count ? keys[number % 9] : values[number % values.count]
                document["number"] = values[number % values.count]
                document["place"] = ["city": .string("c\(number % 3)"), "size": values[number % values.count]]
                if number % 11 == 10 { document["number"] = nil }
                return document
            }
            try await collection.insertMany(documents)
            for stages in Self.stages {
                let found = try await collection.aggregate(stages)
                let expected = try await Pipeline(stages).run(documents, context: PipelineContext())
                #expect(Self.sorted(found) == Self.sorted(expected), "\(stages)")
            }
            let plan = ExtendedJSON.print(try await collection.explainAggregate(Self.stages[0]))
            #expect(plan.contains("Partial") == !settings.isEmpty, "\(plan)")
        }
    }

    @Test func `values in arrays and documents are grouped as in the engine`() async throws {
        try await StoreFixture.with(partitionKey: nil) { fixture in
            let collection = fixture.store.collection("Shapes", database: "RChat", app: StoreFixture.app)
            let documents: [Document] = [
                ["_id": "a", "key": ["x": 1, "y": 2], "place": .array([["size": 1], ["size": 2]])],
                ["_id": "b", "key": ["y": 2, "x": 1], "place": ["size": 4]],
                ["_id": "c", "key": ["a\u{0}b"], "place": 7],
                ["_id": "d", "key": .int64(1), "place": ["size": .int64(3)], "text": "a\u{0}\\u0000b"],
            ]
            try await collection.insertMany(documents)
            for stages: [Document] in [
                [["$group": ["_id": "$key", "n": ["$sum": 1]]]],
                [["$group": ["_id": .null, "n": ["$sum": "$place.size"]]]],
                [["$group": ["_id": "$place.size", "n": ["$sum": 1]]]],
            ] {
                let found = try await collection.aggregate(stages)
                let expected = try await Pipeline(stages).run(documents, context: PipelineContext())
                #expect(Self.sorted(found) == Self.sorted(expected), "\(stages)")
            }
        }
    }

    /// Groups have no order, and a key that is equal in several types may have any of them.
    private static func sorted(_ documents: [Document]) -> [String] {
        documents.map { document in
            var document = document
            if let number = document["_id"]?.doubleValue { document["_id"] = .double(number) }
            if var keys = document["_id"]?.documentValue {
                for place in keys.fields.indices {
                    if let number = keys.fields[place].value.doubleValue { keys.fields[place].value = .double(number) }
                }
                document["_id"] = .document(keys)
            }
            return ExtendedJSON.print(document)
        }.sorted()
    }
}
