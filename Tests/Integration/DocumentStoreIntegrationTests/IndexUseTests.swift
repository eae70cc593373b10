import DocumentModel
import DocumentStore
import QueryLanguage
import SyncEngine
import Testing

/// Indexes are used, and change nothing about what is found.
@Suite struct IndexUseTests {
    private func messages(_ fixture: StoreFixture) -> DocumentCollection {
        fixture.store.collection("ChatMessage", database: "RChat", app: StoreFixture.app)
    }

    @Test(arguments: [11, 12, 13, 14] as [UInt64])
    func `with indexes the store finds what the filter matches, in the order of the sort`(seed: UInt64) async throws {
        try await StoreFixture.with { fixture in
            var source = RandomDocuments(generator: SeededGenerator(seed: seed))
            let documents = (0..<150).map { source.document($0) }
            let collection = messages(fixture)
            try await collection.insertMany(documents)
            try await collection.createIndexes([
                IndexModel([.init("x")]), IndexModel([.init("y"), .init("z", .descending)]), IndexModel([.init("x.y")]),
                IndexModel([.init("z")], sparse: true), IndexModel([.init("partition"), .init("x")]),
                IndexModel([.init("z"), .init("y")], partialFilter: ["x": ["$exists": true], "z": ["$gte": 5]]),
            ])
            for _ in 0..<150 {
                let document = source.filter()
                let filter = try Filter(document)
                let expected = documents.filter { filter.matches($0, now: 0) }
                let found = try await collection.find(document).compactMap { $0["_id"]?.keyText }.sorted()
                #expect(
                    found == expected.compactMap { $0["_id"]?.keyText }.sorted(),
                    "\(ExtendedJSON.print(document, mode: .relaxed))")
                for order in [
                    ["x": 1], ["x": -1], ["y": 1, "z": -1], ["z": 1], ["partition": 1, "x": 1], ["x.y": -1], ["_id": 1],
                ]
                    as [Document]
                {
                    let sort = try Sort(order)
                    var sorted = expected
                    sort.sort(&sorted)
                    let ordered = try await collection.find(
                        document, options: FindOptions(sort: order, skip: 1, limit: 7))
                    #expect(
                        ordered.count == min(max(sorted.count - 1, 0), 7)
                            && zip(ordered, sorted.dropFirst()).allSatisfy { sort.compare($0, $1) == 0 },
                        "\(ExtendedJSON.print(document, mode: .relaxed)) by \(order)")
                }
            }
        }
    }

    @Test func `equality, ranges, prefixes, sorts with limits, lists and elements of arrays use the index`()
        async throws
    {
        try await StoreFixture.with { fixture in
            let collection = messages(fixture)
            try await fill(fixture, count: 4000)
            try await collection.createIndexes([
                IndexModel([.init("author"), .init("number", .descending)]), IndexModel([.init("tags")]),
                IndexModel([.init("place.city")]), IndexModel([.init("at")]),
                try IndexModel(["key": ["mail": 1], "unique": true, "sparse": true]),
                try IndexModel(["key": ["state": 1], "partialFilterExpression": ["state": ["$in": ["open", "new"]]]]),
            ])
            try await fixture.client.execute("analyze \(fixture.table)")
            for (filter, options, index, count) in [
                (["author": "a7"], FindOptions(), "ChatMessage$author_1_number_-1", 40),
                (
                    ["author": "a7", "number": ["$gte": 1000, "$lt": 2000]], FindOptions(),
                    "ChatMessage$author_1_number_-1", 10
                ),
                (["author": ["$in": ["a1", "a2"]]], FindOptions(), "ChatMessage$author_1_number_-1", 80),
                (["author": ["$regex": "^a9"]], FindOptions(), "ChatMessage$author_1_number_-1", 440),
                (["author": "a7"], FindOptions(sort: ["number": -1], limit: 5), "ChatMessage$author_1_number_-1", 5),
                (["author": "a7"], FindOptions(sort: ["number": 1], limit: 5), "ChatMessage$author_1_number_-1", 5),
                ([:], FindOptions(sort: ["at": -1], limit: 3), "ChatMessage$at_1", 3),
                (["at": ["$gte": .date(3990)]], FindOptions(), "ChatMessage$at_1", 10),
                (["tags": "t3"], FindOptions(), "ChatMessage$tags_1$elements", 40),
                (["tags": ["$all": ["t3", "u3"]]], FindOptions(), "ChatMessage$tags_1$elements", 40),
                (["place.city": "c5"], FindOptions(), "ChatMessage$place.city_1", 4),
                (["mail": "m17"], FindOptions(), "ChatMessage$mail_1", 1),
                (["state": "open"], FindOptions(), "ChatMessage$state_1", 8),
                (["$or": [["mail": "m17"], ["place.city": "c5"]]], FindOptions(), "ChatMessage$mail_1", 5),
            ] as [(Document, FindOptions, String, Int)] {
                let plan = ExtendedJSON.print(
                    .document(try await collection.explain(filter, options: options)), mode: .relaxed)
                #expect(plan.contains("Index Scan") && plan.contains(index), "\(filter): \(plan)")
                let found = try await collection.find(filter, options: options)
                #expect(found.count == count, "\(filter)")
                if let sort = options.sort {
                    var sorted = found
                    try Sort(sort).sort(&sorted)
                    #expect(sorted == found)
                }
            }
        }
    }

    @Test func `an index finds what a prefix matches beside a combining mark`() async throws {
        try await StoreFixture.with { fixture in
            let collection = messages(fixture)
            let names = ["caf", "cafe", "cafe\u{301}", "cafe\u{301}\u{301}", "caf\u{301}", "caf\u{e9}", "cafx"]
            try await collection.insertMany(names.map { ["author": .string($0)] })
            let patterns = ["^cafe\u{301}?", "^cafe?\u{301}", "^cafe*\u{301}$", "^caf\u{e9}?", "^cafe\u{301}"]
            func found() async throws -> [[String]] {
                var all: [[String]] = []
                for pattern in patterns {
                    all.append(
                        try await collection.find(["author": ["$regex": .string(pattern)]]).compactMap {
                            $0["author"]?.stringValue
                        }.sorted())
                }
                return all
            }
            let scanned = try await found()
            try await collection.createIndex(IndexModel([.init("author")]))
            let indexed = try await found()
            #expect(indexed == scanned)
            #expect(scanned.map(\.count) == [3, 3, 2, 7, 2])
        }
    }

    @Test func `the first of an order is found and changed by its index, and a hint is obeyed`() async throws {
        try await StoreFixture.with { fixture in
            let collection = messages(fixture)
            try await fill(fixture, count: 300)
            try await collection.createIndexes([
                IndexModel([.init("state"), .init("at")]), IndexModel([.init("author")]),
            ])
            try await collection.insertOne([
                "_id": "early", "partition": "p", "state": "done", "at": [.date(-5), .date(900)],
            ])
            var order: [String] = []
            for _ in 0..<3 {
                let next = try await collection.findOneAndUpdate(
                    ["state": "done"], ["$set": ["state": "taken"]], options: FindAndModifyOptions(sort: ["at": 1]))
                order.append(next?["_id"]?.stringValue ?? "none")
            }
            #expect(order == ["early", "d1", "d2"])
            for hint in ["author_1", ["author": 1]] as [Value] {
                let plan = try await collection.explain(
                    ["state": "done", "author": "a7"], options: FindOptions(hint: hint))
                #expect(plan["indexes"] == ["author_1"])
            }
            let natural = try await collection.explain(["author": "a7"], options: FindOptions(hint: ["$natural": 1]))
            #expect(natural["indexes"] == [])
            let error = await #expect(throws: DocumentStoreError.self) {
                try await collection.find(["author": "a7"], options: FindOptions(hint: "none"))
            }
            #expect(error?.mongoCode == 2)
            let whole = try await collection.explainAggregate([
                ["$match": ["author": "a7"]], ["$group": ["_id": "$state"]],
            ])
            #expect(whole["indexes"] == ["author_1"])
            #expect(
                whole["stages"] == [["stage": "$match", "in": "postgres"], ["stage": "$group", "in": "postgres"]])
        }
    }

    private func fill(_ fixture: StoreFixture, count: Int) async throws {
        try await messages(fixture).insertMany(
            (0..<count).map { number in
                var document: Document = [
                    "_id": .string("d\(number)"), "partition": "p", "author": .string("a\(number % 100)"),
                    "number": .int32(Int32(number)), "at": .date(Int64(number)),
                    "place": ["city": .string("c\(number % 1000)")], "mail": .string("m\(number)"),
                    "state": .string(number % 500 == 0 ? "open" : "done"),
                ]
                if number % 10 == 3 { document["tags"] = [.string("t\(number % 100)"), .string("u\(number % 100)")] }
                return document
            })
    }
}
