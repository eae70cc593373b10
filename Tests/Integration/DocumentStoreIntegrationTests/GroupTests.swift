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
        [["$group": ["_id": "$key", "least": ["$min": "$number"], "most": ["$max": "$number"]]]],
        [
            [
                "$group": [
                    "_id": .null, "least": ["$min": "$place.size"], "most": ["$max": "$place.city"], "n": ["$sum": 1],
                ]
            ]
        ],
        [["$group": ["_id": "$place.city", "first": ["$first": "$$ROOT"], "last": ["$last": "$number"]]]],
        [
            [
                "$group": [
                    "_id": "$key", "all": ["$push": "$number"], "sizes": ["$push": "$place.size"], "n": ["$count": [:]],
                ]
            ]
        ],
        [
            ["$match": ["number": ["$gt": 1]]],
            ["$group": ["_id": .null, "first": ["$first": ["a": "$_id", "b": "$key"]]]],
        ],
        [
            ["$match": ["_id": ["$gt": "d3"]]],
            ["$group": ["_id": .null, "ids": ["$push": "$_id"], "first": ["$first": "$_id"]]],
        ],
        [
            ["$match": ["_id": "nobody"]],
            ["$group": ["_id": .null, "all": ["$push": "$number"], "first": ["$first": "$_id"]]],
        ],
    ]

    /// Groups by parts of dates.
    private static let dates: [[Document]] =
        [
            "$year", "$month", "$dayOfMonth", "$dayOfYear", "$dayOfWeek", "$week", "$isoWeek", "$isoWeekYear",
            "$isoDayOfWeek", "$hour", "$minute", "$second", "$millisecond",
        ]
        .map { name in [["$group": ["_id": .document([name: "$at"]), "n": ["$sum": 1], "last": ["$max": "$at"]]]] } + [
            [["$group": ["_id": ["y": ["$year": "$at"], "m": ["$month": "$at"], "kind": "$kind"], "n": ["$sum": 1]]]],
            [
                [
                    "$group": [
                        "_id": ["$dateToString": ["format": "%Y-%m-%d", "date": "$at"]], "first": ["$first": "$_id"],
                    ]
                ]
            ],
            [
                [
                    "$group": [
                        "_id": ["$dateToString": ["format": "%H:%M", "date": "$at", "timezone": "America/New_York"]],
                        "n": ["$sum": 1],
                    ]
                ]
            ],
            [["$group": ["_id": ["$dateToString": ["format": "%L%%S", "date": "$at"]], "n": ["$sum": 1]]]],
            [
                [
                    "$group": [
                        "_id": ["$dateToString": ["format": "%d%%H", "date": "$at", "onNull": "never"]],
                        "n": ["$sum": 1],
                    ]
                ]
            ],
            [["$group": ["_id": ["$month": ["date": "$at", "timezone": "+05:30"]], "all": ["$push": "$kind"]]]],
            [["$group": ["_id": ["$hour": ["date": "$at", "timezone": "+00:07"]], "n": ["$sum": 1]]]],
            [["$group": ["_id": ["$hour": ["date": "$at", "timezone": "America/St_Johns"]], "n": ["$sum": 1]]]],
            [["$group": ["_id": ["$dayOfMonth": ["date": "$at", "timezone": "America/St_Johns"]], "n": ["$sum": 1]]]],
            [["$group": ["_id": ["$hour": ["date": "$at", "timezone": "Europe/Berlin"]], "n": ["$sum": 1]]]],
            [
                [
                    "$group": [
                        "_id": ["$dateTrunc": ["date": "$at", "unit": "day", "timezone": "America/Sao_Paulo"]],
                        "n": ["$sum": 1],
                    ]
                ]
            ],
            [
                [
                    "$group": [
                        "_id": ["$dateTrunc": ["date": "$at", "unit": "week", "startOfWeek": "monday"]],
                        "n": ["$sum": 1],
                    ]
                ]
            ],
            [["$group": ["_id": ["$dateTrunc": ["date": "$at", "unit": "hour", "binSize": 6]], "n": ["$sum": 1]]]],
            [
                [
                    "$group": [
                        "_id": ["$dateTrunc": ["date": "$when.it", "unit": "quarter", "timezone": "Asia/Kathmandu"]],
                        "n": ["$sum": 1],
                    ]
                ]
            ],
            [
                ["$match": ["kind": "a"]],
                ["$group": ["_id": ["$month": "$at"], "n": ["$sum": 1], "kinds": ["$push": "$kind"]]],
            ],
        ]

    /// Values that differ between the form for Postgres and the body, with a name for the difference.
    private static let kinds: [String: [Value]] = [
        "integers": [.int32(1), .int32(7), .int32(-3), .int32(.max)],
        "longs": [.int64(1), .int64(7), .int64(1 << 40)],
        "doubles": [.double(0.1), .double(0.2), .double(1), .double(-2.5), .double(1e16), .double(1e-7)],
        "scores": [
            .double(0.1), .double(12.99), .double(1e15), .double(0.0004), .double(-1e15), .double(3e-9), .double(0.3),
        ],
        "huge": [
            .int64(.max), .int64(.max - 1), .int64(1 << 53 + 1), .int64(1 << 60), .double(0x1p60), .double(0x1p53),
            .int64(-(1 << 53) - 1),
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
                // A range of `_id`s is read in the order of `_id`, as from MongoDB's index.
                let isRange = stages[0]["$match"]?["_id"]?["$gt"] != nil
                let read =
                    isRange ? documents.sorted { Value.compare($0["_id"] ?? .null, $1["_id"] ?? .null) < 0 } : documents
                let expected = try await Pipeline(stages).run(read, context: PipelineContext())
                #expect(Self.sorted(found) == Self.sorted(expected), "\(stages)")
            }
            let plan = ExtendedJSON.print(try await collection.explainAggregate(Self.stages[0]))
            #expect(plan.contains("Partial") == !settings.isEmpty, "\(plan)")
        }
    }

    /// Moments about which something changes, in milliseconds since 1970: years, leap days, summer times, weeks, the limits of a span.
    private static let moments: [Int64] = [
        0, -1, 1, 951_782_400_000, 951_868_799_999, 1_711_846_800_000, 1_711_846_799_999, 1_730_613_600_000,
        1_735_689_599_999,
        1_735_689_600_000, 1_704_067_199_999, 946_684_800_000, 946_684_799_999, 253_402_300_799_999,
        // A change of St. John's at a minute after midnight.
        1_299_987_600_000, 1_299_987_060_000, 1_299_987_000_000, 1_320_543_060_000, 1_320_546_660_000,
    ]

    @Test(arguments: [moments, moments + [-62_135_596_800_001, 253_402_300_800_000]])
    func `parts of dates are grouped as in the engine`(moments: [Int64]) async throws {
        try await StoreFixture.with(partitionKey: nil) { fixture in
            let collection = fixture.store.collection("Dates", database: "RChat", app: StoreFixture.app)
            let documents =
                moments.indices.flatMap { place in
                    ([0, 900_000, -60_000] as [Int64]).enumerated().map { number, offset -> Document in
                        let date = Value.date(moments[place] + offset)
                        return [
                            "_id": .string("\(place)-\(number)"), "at": date, "when": ["it": date],
                            "kind": number == 0 ? "a" : "b",
                        ]
                    }
                } + [["_id": "none", "kind": "a"], ["_id": "null", "at": .null, "when": 7]]
            try await collection.insertMany(documents)
            for stages in Self.dates {
                let found = await Self.result { try await collection.aggregate(stages) }
                let expected = await Self.result {
                    try await Pipeline(stages).run(documents, context: PipelineContext())
                }
                #expect(found == expected, "\(stages)")
            }
            let plan = try await collection.explainAggregate(Self.dates[1])
            #expect(plan["stages"]?[0]?["in"] == "postgres", "\(plan)")
        }
    }

    @Test func `what isn't a date is an error of the expression`() async throws {
        try await StoreFixture.with(partitionKey: nil) { fixture in
            let collection = fixture.store.collection("Dates", database: "RChat", app: StoreFixture.app)
            try await collection.insertMany([["_id": "a", "at": "noon"], ["_id": "b", "at": .date(5)]])
            let error = await #expect(throws: DocumentStoreError.self) {
                try await collection.aggregate([["$group": ["_id": ["$year": "$at"]]]])
            }
            #expect(error?.mongoCode == 16006)
            try await collection.updateOne(["_id": "a"], ["$set": ["at": .objectId(ObjectId(high: 0, low: 2))]])
            #expect(try await collection.aggregate([["$group": ["_id": ["$year": "$at"]]]]) == [["_id": 1970]])
        }
    }

    /// The result, or the code of the error.
    private static func result(_ body: () async throws -> [Document]) async -> [String] {
        do {
            return sorted(try await body())
        } catch let error as DocumentStoreError {
            return ["\(error.mongoCode ?? 0)"]
        } catch let error as QueryError {
            return ["\(error.code)"]
        } catch {
            return ["\(error)"]
        }
    }

    @Test func `values in arrays and documents are grouped as in the engine`() async throws {
        try await StoreFixture.with(partitionKey: nil) { fixture in
            let collection = fixture.store.collection("Shapes", database: "RChat", app: StoreFixture.app)
            let documents: [Document] = [
                [
                    "_id": "a", "key": ["x": 1, "y": 2], "mark": .symbol("a"),
                    "place": .array([["size": 1], ["size": 2]]),
                ],
                ["_id": "b", "key": ["y": 2, "x": 1], "place": ["size": 4]],
                ["_id": "c", "key": ["a\u{0}b"], "place": 7],
                ["_id": "d", "key": .int64(1), "place": ["size": .int64(3)], "text": "a\u{0}\\u0000b"],
            ]
            try await collection.insertMany(documents)
            for stages: [Document] in [
                [["$group": ["_id": "$key", "n": ["$sum": 1]]]],
                [["$group": ["_id": .null, "n": ["$sum": "$place.size"]]]],
                [["$group": ["_id": "$place.size", "n": ["$sum": 1]]]],
                [["$group": ["_id": .null, "n": ["$min": "$place.size"], "m": ["$max": "$key"]]]],
                [["$group": ["_id": .null, "n": ["$push": "$place.size"]]]],
                [["$group": ["_id": .null, "n": ["$max": "$mark"]]]],
                [["$match": ["_id": ["$in": ["a", "b", "c"]]]], ["$group": ["_id": .null, "n": ["$push": "$key"]]]],
                [["$match": ["_id": ["$in": ["a", "b"]]]], ["$group": ["_id": .null, "n": ["$push": "$key"]]]],
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
