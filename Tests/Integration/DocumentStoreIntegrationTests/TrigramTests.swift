import DocumentModel
import DocumentStore
import QueryLanguage
import SyncEngine
import Testing

/// An index by trigrams finds what a regular expression matches anywhere in a text.
@Suite struct TrigramTests {
    private func messages(_ fixture: StoreFixture) -> DocumentCollection {
        fixture.store.collection("ChatMessage", database: "RChat", app: StoreFixture.app)
    }

    /// Values of which each must be found by every expression that matches it.
    private static let values: [Value] = [
        "Harbour master", "HARBOUR", "harbor", "50% off_today", "back\\slash \"quoted\"", "line\nharbour\ttab",
        "nul\0harbour \"x\\y\"", "ΟΔΟΣ ΟΔΟΣΑ", "οδός", "Straße GRÜN", "İstanbul ışık", "tas\u{212a} force", "ſmith",
        "task", "",
        "Cafe\u{301} harbour", "Café", "漢字かな交じり", "Привет мир", ["harbour", "port"], [["harbour"]],
        [["text": "harbour"]], ["text": "harbour"], ["$text": "harbour"], .null, 5, .symbol("a harbour"),
        .regex(RegularExpression("harbour", options: "")), .code(Code("harbour")),
        .regex(RegularExpression(#"har\.bour\d"#, options: "i")), [5, "nul\0harbour"],
    ]

    private static let expressions: [(String, String)] = [
        ("harbour", ""), ("harbour", "i"), (#"har\.bour\d"#, "i"), ("HARBOUR", ""), ("arbo.r", "i"),
        ("^nul.*harbour", "s"), ("off_today", ""),
        ("50% off", ""), ("k\\\\slash", ""), ("\"quoted\"", ""), ("harbour\ttab", ""), ("r \"x", ""), ("οδο", ""),
        ("ΟΔΟΣ", ""),
        ("ΟΔΟΣΑ", "i"), ("δός$", ""), ("straße", "i"), ("grün", "i"), ("GRÜN", ""), ("stanbul", "i"), ("ışık", ""),
        ("task", "i"), ("smith", "i"), ("tas\u{212a}", ""), ("ſmith", ""), ("Café", ""), ("Cafe\u{301}", ""),
        ("字かな", ""),
        ("привет", "i"), ("ривет", ""), ("", ""), ("ar", "i"), ("port|harbour", ""), ("(harbour) master", ""),
    ]

    @Test func `it finds what the expression matches, at whichever path`() async throws {
        // The small table would be read as a whole.
        try await StoreFixture.with(settings: ["enable_seqscan": "off"]) { fixture in
            let collection = messages(fixture)
            var documents: [Document] = []
            for (number, value) in Self.values.enumerated() {
                documents.append(["_id": .string("a\(number)"), "partition": "p", "text": value])
                documents.append(["_id": .string("b\(number)"), "partition": "p", "deep": ["text": value]])
                documents.append([
                    "_id": .string("c\(number)"), "partition": "p", "deep": [["text": value], ["text": 5]],
                ])
            }
            documents.append(["_id": "none", "partition": "p"])
            try await collection.insertMany(documents)
            try await collection.createIndexes(
                try ["text", "deep.text"].map { try IndexModel(["key": .document([$0: "trigram"])]) })
            for path in ["text", "deep.text"] {
                for (pattern, options) in Self.expressions {
                    let expression = Value.regex(RegularExpression(pattern, options: options))
                    for document in [
                        [path: expression], [path: expression, "partition": "p"],
                        ["$or": [[path: expression], ["_id": "none"]]], ["$nor": [[path: expression]]],
                        [path: ["$not": expression]],
                    ] as [Document] {
                        let filter = try Filter(document)
                        let expected = documents.filter { filter.matches($0, now: 0) }
                        let found = try await collection.find(document)
                        #expect(
                            Set(found.compactMap { $0["_id"]?.stringValue }.map { ExactText($0) })
                                == Set(expected.compactMap { $0["_id"]?.stringValue }.map { ExactText($0) }),
                            "\(document)")
                        #expect(try await collection.countDocuments(document) == expected.count, "\(document)")
                    }
                }
            }
        }
    }

    @Test func `Postgres reads only the documents that have the text, also for a sort`() async throws {
        try await StoreFixture.with { fixture in
            let collection = messages(fixture)
            try await collection.insertMany(
                (0..<5000).map { number in
                    [
                        "_id": .string("d\(number)"), "partition": "p", "number": .int32(Int32(number)),
                        "text": .string("message \(number * 7919 % 5000 + 10_000) of many"),
                    ]
                })
            try await collection.createIndexes([
                try IndexModel(["key": ["text": "trigram"]]), IndexModel([.init("number")]),
            ])
            try await fixture.client.execute("analyze \(fixture.table)")
            let filter: Document = ["text": ["$regex": "E 12345", "$options": "i"]]
            for options in [
                FindOptions(), FindOptions(limit: 5), FindOptions(sort: ["number": 1], limit: 5),
                FindOptions(sort: ["other": 1], limit: 5), FindOptions(hint: "text_trigram"),
            ] {
                let plan = ExtendedJSON.print(
                    .document(try await collection.explain(filter, options: options)), mode: .relaxed)
                #expect(plan.contains("Index Scan") && plan.contains("ChatMessage$text_trigram"), "\(options): \(plan)")
                #expect(try await collection.find(filter, options: options).count == 1)
            }
            #expect(try await collection.countDocuments(filter) == 1)
            // Nothing that an index could search for.
            let short = try await collection.explain(["text": ["$regex": "12"]])
            #expect(short["indexes"] == [])
        }
    }

    @Test func `it stands alone, is listed as it was declared, and isn't made twice`() async throws {
        try await StoreFixture.with { fixture in
            let collection = messages(fixture)
            for specification in [
                ["key": ["text": "trigram", "number": 1]], ["key": ["text": "trigram"], "unique": true],
                ["key": ["text": "trigram"], "expireAfterSeconds": 5], ["key": ["_id": "trigram"]],
            ] as [Document] {
                let error = #expect(throws: DocumentStoreError.self) { try IndexModel(specification) }
                #expect(error?.mongoCode == 115, "\(specification)")
            }
            let partial: Document = ["key": ["text": "trigram"], "partialFilterExpression": ["state": "open"]]
            for _ in 0..<2 { try await collection.createIndex(try IndexModel(partial)) }
            let listed = try await collection.listIndexes().last
            #expect(listed?["key"] == ["text": "trigram"] && listed?["name"] == "text_trigram")
            let whole = try await collection.explain(["text": ["$regex": "harbour"]])
            #expect(whole["indexes"] == [])
            let open = try await collection.explain(["state": "open", "text": ["$regex": "harbour"]])
            #expect(open["indexes"] == ["text_trigram"])
            try await collection.insertMany([
                ["_id": "a", "partition": "p", "state": "open", "text": "the harbour"],
                ["_id": "b", "partition": "p", "state": "new", "text": "the harbour"],
            ])
            #expect(try await collection.find(["state": "open", "text": ["$regex": "harbour"]]).count == 1)
            #expect(try await collection.find(["text": ["$regex": "harbour"]]).count == 2)
            try await collection.dropIndex("text_trigram")
            #expect(try await collection.listIndexes().count == 1)
        }
    }
}
