import DocumentModel
import DocumentStore
import QueryLanguage
import SyncEngine
import Testing

/// The store against the engine in memory, over documents and filters that follow from a seed.
struct FilterDifferenceTests {
    @Test(arguments: [1, 2, 3] as [UInt64])
    func `what the store finds is what the filter matches`(seed: UInt64) async throws {
        try await StoreFixture.with { fixture in
            var source = RandomDocuments(generator: SeededGenerator(seed: seed))
            let documents = (0..<120).map { source.document($0) }
            let collection = fixture.store.collection("ChatMessage", database: "RChat", app: StoreFixture.app)
            try await collection.insertMany(documents)
            for _ in 0..<100 {
                let document = source.filter()
                let filter = try Filter(document)
                let expected = documents.filter { filter.matches($0, now: 0) }.compactMap { $0["_id"]?.keyText }
                    .sorted()
                let found = try await collection.find(document).compactMap { $0["_id"]?.keyText }.sorted()
                #expect(found == expected, "\(ExtendedJSON.print(document, mode: .relaxed))")
                #expect(
                    try await collection.countDocuments(document) == expected.count,
                    "\(ExtendedJSON.print(document, mode: .relaxed))")
                let grouped = try await collection.aggregate([["$match": .document(document)], ["$count": "n"]])
                #expect(
                    grouped.first?["n"]?.intValue ?? 0 == expected.count,
                    "\(ExtendedJSON.print(document, mode: .relaxed))")
            }
        }
    }

    @Test func `a regular expression finds texts wherever they are`() async throws {
        try await StoreFixture.with { fixture in
            let values: [Value] = [
                "Harbour", "HARBOUR", "the harbour\n", "har\u{0}bour", "hÄrbour", "port", "", ["port", "Harbour"],
                [["harbour"]],
                ["name": "harbour"], [["name": "harbour"], 7], .symbol("harbour"), .regex(RegularExpression("harbour")),
                7,
                .null, .code(Code("harbour")), "\u{212a}ey", "KEY", "a.b", "axb",
            ]
            let documents = values.enumerated().map { number, value -> Document in
                ["_id": .int32(Int32(number)), "x": value, "y": ["x": value]]
            }
            let collection = fixture.store.collection("Things", database: "RChat", app: StoreFixture.app)
            try await collection.insertMany(documents)
            for pattern in [
                "harbour", "^har", "bour$", "har.?bour", "HARBOUR|port", "key", #"a\.b"#, "ä", "", "(x)?bou",
            ] {
                for options in ["", "i", "m", "x"] {
                    let regex = Value.regex(RegularExpression(pattern, options: options))
                    for filter: Document in [
                        ["x": regex], ["y.x": regex], ["x.name": regex], ["x": ["$not": regex]],
                        ["x": ["$in": [regex, 7]]],
                        ["$or": [["x": regex], ["x": 7]]],
                    ] {
                        let matching = try Filter(filter)
                        let expected = documents.filter { matching.matches($0, now: 0) }.map { $0["_id"] }
                        #expect(try await collection.find(filter).map { $0["_id"] } == expected, "\(filter)")
                        #expect(try await collection.countDocuments(filter) == expected.count, "\(filter)")
                    }
                }
            }
            let plan = try await collection.explain(["x": ["$regex": "^.*Harb", "$options": "i"]])
            #expect("\(plan)".contains("strpos"))
        }
    }
}

struct DistinctDifferenceTests {
    @Test func `distinct values are those that the documents have`() async throws {
        try await StoreFixture.with { fixture in
            var source = RandomDocuments(generator: SeededGenerator(seed: 6))
            let documents =
                (0..<200).map { source.document($0) } + [
                    ["_id": "in order", "x": ["y": 1, "z": 2]], ["_id": "turned", "x": ["z": 2, "y": 1]],
                ]
            let collection = fixture.store.collection("ChatMessage", database: "RChat", app: StoreFixture.app)
            try await collection.insertMany(documents)
            for path in ["x", "y", "x.y", "x.0", "partition", "nowhere"] {
                for filter in [[:], ["y": ["$exists": true]], ["z": ["$gt": 1]]] as [Document] {
                    var expected = DistinctValues(path)
                    let matching = try Filter(filter)
                    for document in documents where matching.matches(document, now: 0) { try expected.add(document) }
                    #expect(try await collection.distinct(path, filter) == expected.result, "\(path) of \(filter)")
                }
            }
        }
    }
}

struct TwoHandsTests {
    @Test(arguments: [4, 5] as [UInt64])
    func `the triggers derive the same from a document as the library`(seed: UInt64) async throws {
        try await StoreFixture.with { fixture in
            var source = RandomDocuments(generator: SeededGenerator(seed: seed))
            let documents = (0..<150).map { source.document($0) }
            try await fixture.store.ensureCollection(
                .init(database: "RChat", collection: "User"), app: StoreFixture.app)
            try await fixture.store.collection("ChatMessage", database: "RChat", app: StoreFixture.app)
                .insertMany(documents)
            try await fixture.client.execute(
                "insert into \"rchat/RChat\".\"User\" (body) select body from \(fixture.table)")
            let different = try await fixture.client.query(
                """
                select l.body::text, h.body::text, l.document::text, h.document::text
                from \(fixture.table) l full join "rchat/RChat"."User" h using (_id)
                where l.body::text is distinct from h.body::text or l.document is distinct from h.document
                    or (l.partition is distinct from h.partition
                        and not (l.partition like 'i:RChat.ChatMessage:%' and h.partition like 'i:RChat.User:%'))
                """)
            for row in different {
                let (library, hand, plain, handPlain) = try row.decode((String?, String?, String?, String?).self)
                Issue.record("\(library ?? "-")\n\(hand ?? "-")\n\(plain ?? "-")\n\(handPlain ?? "-")")
            }
            // Written back as it is shown, a document stays exactly what it is.
            try await fixture.client.execute(
                "update \"rchat/RChat\".\"User\" set document = (document || '{\"touched\": true}')")
            try await fixture.client.execute("update \"rchat/RChat\".\"User\" set document = document - 'touched'")
            let changed = try await fixture.client.query(
                """
                select l.body::text, h.body::text from \(fixture.table) l join "rchat/RChat"."User" h using (_id)
                where l.body::text <> h.body::text
                """)
            for row in changed {
                let (before, after) = try row.decode((String, String).self)
                Issue.record("\(before)\n\(after)")
            }
        }
    }
}
