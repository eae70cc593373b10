import DocumentModel
import DocumentStore
import Testing

/// The operators of `$search` that have a language of their own, or an old name.
@Suite struct SearchOperatorTests {
    private static let films: [Document] = [
        [
            "_id": "1", "title": "Star Trek", "plot": "Captain Kirk explores space with his crew.", "year": 1966,
            "code": "ST-01",
        ],
        [
            "_id": "2", "title": "Star Wars", "plot": "A farm boy fights the empire in space.", "year": 1977,
            "code": "SW-02",
        ],
        ["_id": "3", "title": "Rocky", "plot": "A boxer from Philadelphia fights the champion.", "year": 1976],
        ["_id": "4", "title": "Rocky II", "plot": "The boxer fights the champion again.", "year": 1979],
        ["_id": "5", "title": "Amélie", "plot": "A waitress in Paris.", "cast": [["name": "Audrey Tautou"]]],
    ]

    private func check(_ searches: [(Document, [String])], isOrdered: Bool = false) async throws {
        try await StoreFixture.with { fixture in
            let films = fixture.store.collection("Film", database: "RChat", app: StoreFixture.app)
            try await films.insertMany(Self.films)
            for (search, expected) in searches {
                let found = try await films.aggregate([["$search": .document(search)], ["$project": ["_id": 1]]])
                let ids = found.compactMap { $0["_id"]?.stringValue }
                #expect((isOrdered ? ids : ids.sorted()) == expected, "\(search)")
                // A count has no score, and all parameters nevertheless.
                let meta = try await films.aggregate([["$searchMeta": .document(search)]])
                #expect(meta[0]["count"]?["lowerBound"]?.intValue == expected.count, "\(search)")
            }
        }
    }

    private func refused(_ searches: [(Document, Int, String)]) async throws {
        try await StoreFixture.with { fixture in
            let films = fixture.store.collection("Film", database: "RChat", app: StoreFixture.app)
            for (search, code, word) in searches {
                let error = await #expect(throws: DocumentStoreError.self) {
                    try await films.aggregate([["$search": .document(search)]])
                }
                #expect(
                    error?.mongoCode == code && error?.message.contains(word) == true,
                    "\(search): \(error.map { "\($0)" } ?? "")")
            }
        }
    }

    @Test func `a text is found by its words, whatever stands between them`() async throws {
        try await StoreFixture.with { fixture in
            let notes = fixture.store.collection("Note", database: "RChat", app: StoreFixture.app)
            let texts: [(String, [String])] = [
                ("said “hello” to O’Neil—the end…", ["hello", "neil", "o’neil", "the", "end"]),
                ("input/output and/or src/main.rs", ["input", "output", "or", "main", "rs", "src/main.rs"]),
                ("user@example.com", ["user", "example", "com", "user@example.com", "example.com"]),
                ("pi is 3.14, not -5", ["3.14", "14", "5"]), ("at 192.168.0.1:80", ["192.168.0.1", "168", "80"]),
                ("<b>bold</b> &amp; co", ["bold", "co"]), ("https://a.example/x?y=z#t", ["a", "x", "y", "z", "t"]),
                ("2024-01-02 v1.2.3 a_b x—y", ["2024-01-02", "v1", "a", "b", "x", "y"]), ("हिन्दी में", ["हिन्दी"]),
                ("ΟΔΟΣ Straße café😀", ["οδος", "straße", "cafe"]),
            ]
            for (place, (text, words)) in texts.enumerated() {
                try await notes.insertOne(["_id": .int32(Int32(place)), "text": .string(text)])
                for word in words {
                    for search: Document in [
                        ["text": ["query": .string(word), "path": "text"]],
                        ["phrase": ["query": .string(word), "path": "text"]],
                    ] {
                        let found = try await notes.aggregate([
                            ["$search": .document(search)], ["$match": ["_id": .int32(Int32(place))]],
                        ])
                        #expect(found.count == 1, "\(word) in \(text): \(search)")
                    }
                }
            }
        }
    }

    @Test func `scores don't overflow, whatever documents have`() async throws {
        try await StoreFixture.with { fixture in
            let notes = fixture.store.collection("Note", database: "RChat", app: StoreFixture.app)
            try await notes.insertMany([
                ["_id": 1, "text": "a", "n": .double(1e308)], ["_id": 2, "text": "a", "n": .double(-1e308)],
                ["_id": 3, "text": "a", "n": .double(.leastNonzeroMagnitude)],
                ["_id": 4, "text": "a", "n": .double(.infinity)],
                ["_id": 5, "text": "a", "n": .decimal128(try #require(Decimal128("1E+6000")))],
                ["_id": 6, "text": "a", "n": .decimal128(try #require(Decimal128("1E-6000")))],
            ])
            let word: Value = ["query": "a", "path": "text", "score": ["boost": ["value": .double(1e308)]]]
            let byPath: Value = ["query": "a", "path": "text", "score": ["boost": ["path": "n"]]]
            func nested(_ inner: Value, _ score: Value) -> Value { ["must": [["text": inner]], "score": score] }
            let searches: [Document] = [
                ["compound": nested(word, ["boost": ["value": .double(1e308)]])],
                ["compound": nested(word, ["boost": ["path": "n"]])],
                ["compound": nested(byPath, ["boost": ["value": .double(1e-308)]])],
                ["compound": nested(byPath, ["boost": ["path": "n"]])],
                ["near": ["path": "n", "origin": .double(-1.7e308), "pivot": .double(1e308)]],
                ["near": ["path": "n", "origin": .double(1.7e308), "pivot": .double(1e-300)]],
                ["text": ["query": "a", "path": "text", "score": ["constant": ["value": .double(1.7e308)]]]],
            ]
            for search in searches {
                let found = try await notes.aggregate([
                    ["$search": .document(search)], ["$project": ["score": ["$meta": "searchScore"]]],
                ])
                #expect(!found.isEmpty, "\(search)")
                #expect(found.allSatisfy { $0["score"]?.doubleValue?.isFinite == true }, "\(search): \(found)")
            }
        }
    }

    // MARK: queryString

    @Test(
        arguments: [
            ("rocky", ["3", "4"]), ("ROCKY", ["3", "4"]), ("star AND trek", ["1"]), ("star && trek", ["1"]),
            ("trek OR rocky", ["1", "3", "4"]), ("trek || rocky", ["1", "3", "4"]), ("trek rocky", ["1", "3", "4"]),
            ("star NOT trek", ["2"]), ("star AND NOT trek", ["2"]), ("star -trek", ["2"]), ("star !trek", ["2"]),
            ("+star +wars", ["2"]), ("+star wars", ["1", "2"]), ("NOT star", []),
            ("plot:space", ["1", "2"]), ("plot:space AND title:(wars OR rocky)", ["2"]),
            ("plot:(boxer AND again)", ["4"]), ("(plot:space OR plot:boxer) AND NOT title:star", ["3", "4"]),
            ("plot : space", ["1", "2"]), ("cast.name:tautou", ["5"]), ("\"star trek\"", ["1"]),
            ("\"trek star\"", []), ("plot:\"boxer champion\"~3", ["4"]), ("plot:\"boxer champion\"~4", ["3", "4"]),
            ("plot:\"boxer the champion\"", []), ("rocki~1", ["3", "4"]), ("roki~", ["3", "4"]), ("amelie", ["5"]),
            ("t*k", ["1"]), ("w?rs", ["2"]), ("roc*", ["3", "4"]), ("star*k", []), ("/tr[aeiou]k/", ["1"]),
            ("/[rs].*/", ["1", "2", "3", "4"]), ("[rocky TO star]", ["1", "2", "3", "4"]), ("{rocky TO star}", []),
            ("[rocky TO star}", ["3", "4"]), ("[* TO b]", ["5"]), ("[trek TO *]", ["1", "2"]),
            ("code:*", ["1", "2"]), ("*:*", ["1", "2", "3", "4", "5"]), ("star AND *:*", ["1", "2"]),
            ("trek^2 OR rocky^0.5", ["1", "3", "4"]), ("star\\:trek", ["1", "2"]), ("a AND b OR c", []),
            ("(star)", ["1", "2"]), ("((star) AND ((trek)))", ["1"]), ("code:ST\\-01", ["1"]),
        ] as [(String, [String])])
    func `a queryString is a query of Lucene's classic parser`(query: String, expected: [String]) async throws {
        try await check([(["queryString": ["defaultPath": "title", "query": .string(query)]], expected)])
    }

    @Test func `AND of a queryString makes the parts beside it necessary, as in Lucene`() async throws {
        try await check(
            [
                (["queryString": ["defaultPath": "title", "query": "rocky OR star AND trek"]], ["1"]),
                (["queryString": ["defaultPath": "title", "query": "rocky^5 OR star"]], ["3", "4", "1", "2"]),
                (
                    [
                        "compound": [
                            "must": ["queryString": ["defaultPath": "plot", "query": "fights"]],
                            "filter": ["range": ["path": "year", "gt": 1976]],
                        ]
                    ], ["4", "2"]
                ),
            ], isOrdered: true)
    }

    @Test func `a queryString that can't be read is refused with its place`() async throws {
        let queries: [(String, Int, String)] = [
            ("", 8, "missing"), ("a AND", 8, "missing"), ("AND a", 8, "AND"), ("(a", 8, "\")\""), ("a)", 8, "\")\""),
            ("\"a", 8, "closing"), ("[a TO b", 8, "missing"), ("[a b]", 8, "TO"), ("*a", 8, "first"),
            ("?a", 8, "first"), ("a~3", 8, "edits"), ("a^x", 8, "number"), ("/a", 8, "closing"),
            ("a:/(/", 8, "regex"), ("a:/~b/", 115, "complement"), ("\"a b\"~11", 115, "slop"),
            (String(repeating: "(", count: 30) + "a" + String(repeating: ")", count: 30), 8, "nested"),
            (String(repeating: "a", count: 20_000), 8, "too long"),
            (String(repeating: "a ", count: 2000), 8, "1024"),
        ]
        try await refused(
            queries.map { (["queryString": ["defaultPath": "title", "query": .string($0)]], $1, $2) } + [
                (["queryString": ["query": "a"]], 8, "defaultPath"),
                (["queryString": ["defaultPath": "a"]], 8, "query"),
                (["queryString": ["defaultPath": "a", "query": "b", "fuzzy": [:]]], 8, "queryString.fuzzy"),
            ])
    }

    // MARK: regex

    @Test(
        arguments: [
            (".*trek", ["1"]), ("trek", []), ("star (trek|wars)", ["1", "2"]), ("STAR.+", ["1", "2"]),
            ("rocky( i{2})?", ["3", "4"]), ("[^s].*", ["3", "4", "5"]), ("amelie", ["5"]), ("amél[ií]e", ["5"]),
            ("@wars", ["2"]), ("#", []), ("rocky|#", ["3"]), ("\"star trek\"", ["1"]), ("star\\strek", ["1"]),
            ("\\w+", ["3", "5"]), ("^rocky$", []), ("[A-Z]{5,6}", ["3", "5"]), ("rocky|", ["3"]),
        ] as [(String, [String])])
    func `a regex of Lucene matches whole texts`(pattern: String, expected: [String]) async throws {
        try await check([(["regex": ["query": .string(pattern), "path": "title"]], expected)])
    }

    @Test func `a regex matches words where it may, and one of several`() async throws {
        try await check([
            (["regex": ["query": "tr.k", "path": "title", "allowAnalyzedField": true]], ["1"]),
            (["regex": ["query": ["rocky", ".*wars"], "path": ["title", "plot"]]], ["2", "3"]),
            (["regex": ["query": "audrey.*", "path": ["wildcard": "*"]]], ["5"]),
        ])
    }

    @Test func `a regex beyond its budget, or that can't be expressed, is refused`() async throws {
        let patterns: [(String, Int, String)] = [
            ("(", 8, "regex"), ("a)", 8, "unexpected"), ("a{2", 8, "missing"), ("*", 8, "repeat"), ("[]", 8, "empty"),
            ("[z-a]", 8, "order"), ("\"a", 8, "early"), ("a{256}", 8, "255"), ("((a{99}){99}){99}", 8, "large"),
            (String(repeating: "(", count: 60) + String(repeating: ")", count: 60), 8, "nested"),
            ("~a", 115, "complement"), ("a&b", 115, "intersection"), ("<1-9>", 115, "interval"),
        ]
        try await refused(patterns.map { (["regex": ["query": .string($0), "path": "title"]], $1, $2) })
    }

    @Test func `a regex that would go back without end is matched in time`() async throws {
        try await StoreFixture.with { fixture in
            let films = fixture.store.collection("Film", database: "RChat", app: StoreFixture.app)
            try await films.insertMany(
                (0..<20).map { ["title": .string(String(repeating: "a", count: 5000) + "b\($0)")] })
            let found = try await films.aggregate(
                [["$search": ["regex": ["query": "(a|aa|a*)*(a|b)*(a*a*)*c", "path": "title"]]]],
                options: AggregateOptions(maxTimeMS: 10_000))
            #expect(found.isEmpty)
        }
    }

    // MARK: moreLikeThis

    @Test func `moreLikeThis finds documents with words of the given ones, the most alike first`() async throws {
        try await check(
            [
                (["moreLikeThis": ["like": .document(Self.films[2])]], ["3", "4", "2", "5"]),
                (["moreLikeThis": ["like": ["title": "Rocky"]]], ["3", "4"]),
                (["moreLikeThis": ["like": [["title": "Trek"], ["cast": [["name": "Tautou"]]]]]], ["5", "1"]),
                (["moreLikeThis": ["like": ["year": 1976]]], []),
                (
                    [
                        "compound": [
                            "must": [["moreLikeThis": ["like": ["title": "Rocky"]]]],
                            "mustNot": [["equals": ["path": "title", "value": "Rocky"]]],
                        ]
                    ], ["4"]
                ),
            ], isOrdered: true)
        try await refused([
            (["moreLikeThis": [:]], 8, "like"), (["moreLikeThis": ["like": "text"]], 8, "like"),
            (["moreLikeThis": ["like": .array(Array(repeating: [:], count: 11))]], 8, "10"),
        ])
    }

    // MARK: Old operators

    @Test func `the old operators term and search work as they did`() async throws {
        try await check([
            (["term": ["query": "rocky", "path": "title"]], ["3", "4"]),
            (["term": ["query": "rocky ii", "path": "title"]], ["4"]),
            (["term": ["query": "roc", "path": "title"]], []),
            (["term": ["query": "roc", "path": "title", "prefix": true]], ["3", "4"]),
            (["term": ["query": "r*y", "path": "title", "wildcard": true]], ["3", "4"]),
            (["term": ["query": "r*y", "path": "title"]], []),
            (["term": ["query": "tr.k", "path": "title", "regex": true]], ["1"]),
            (["term": ["query": ["trek", "wars"], "path": ["title", "plot"]]], ["1", "2"]),
            (["term": ["query": "roki", "path": "title", "fuzzy": ["maxEdits": 2, "prefixLength": 0]]], ["3", "4"]),
            (["search": ["query": "boxer empire", "path": "plot"]], ["2", "3", "4"]),
            (["search": ["query": "the champion", "path": "plot", "phrase": [:]]], ["3", "4"]),
            (["search": ["query": "boxer champion", "path": "plot", "phrase": ["slop": 2]]], ["4"]),
            (["search": ["query": "the cham", "path": "plot", "phrase": ["prefix": true]]], ["3", "4"]),
            (["search": ["query": "the cham", "path": "plot", "phrase": [:]]], []),
            (["near": ["path": ["year", "other"], "origin": 1976, "pivot": 2]], ["1", "2", "3", "4"]),
            (["range": ["path": ["other", "year"], "gte": 1977]], ["2", "4"]),
        ])
        try await refused([
            (["term": ["path": "a"]], 8, "term.query"),
            (["search": ["query": "a", "path": "b", "phrase": 1]], 8, "phrase"),
            (["search": ["query": "a", "path": "b", "slop": 1]], 8, "search.slop"),
        ])
    }

    @Test func `near finds places, the nearest first, and equals and in find values of each type`() async throws {
        try await StoreFixture.with { fixture in
            let ports = fixture.store.collection("Port", database: "RChat", app: StoreFixture.app)
            let id = Value.binary(Binary(Array(0..<16), subtype: 4))
            func point(_ longitude: Double, _ latitude: Double) -> Value {
                ["type": "Point", "coordinates": [.double(longitude), .double(latitude)]]
            }
            try await ports.insertMany([
                ["_id": "1", "at": point(10, 54), "uuid": id, "ok": true],
                ["_id": "2", "at": point(8, 53.5), "ok": false],
                ["_id": "3", "at": ["type": "Point", "coordinates": ["x", "y"]]], ["_id": "4", "at": [8.5, 53.5]],
                ["_id": "5", "at": point(179.5, 0), "uuid": .null],
            ])
            for (search, expected) in [
                (["near": ["path": "at", "origin": point(8.5, 53.5), "pivot": 1000]], ["2", "1", "5"]),
                (["equals": ["path": "uuid", "value": id]], ["1"]), (["in": ["path": "uuid", "value": [id]]], ["1"]),
                (["equals": ["path": "ok", "value": false]], ["2"]),
            ] as [(Document, [String])] {
                let found = try await ports.aggregate([["$search": .document(search)]])
                #expect(found.compactMap { $0["_id"]?.stringValue } == expected, "\(search)")
            }
            let scores = try await ports.aggregate([
                ["$search": ["near": ["path": "at", "origin": point(-179.5, 0), "pivot": 111_195]]],
                ["$limit": 1], ["$project": ["score": ["$meta": "searchScore"]]],
            ])
            // A degree of the equator is as far as the pivot, so the score is a half.
            #expect(abs((scores[0]["score"]?.doubleValue ?? 0) - 0.5) < 0.001, "\(scores)")
        }
        try await refused([
            (["near": ["path": "at", "origin": ["type": "Polygon"], "pivot": 1]], 8, "point"),
            (["near": ["path": "at", "origin": "here", "pivot": 1]], 115, "origin"),
            (["in": ["path": "a", "value": []]], 115, "in at"),
        ])
    }

    @Test func `what the new operators found is highlighted`() async throws {
        try await StoreFixture.with { fixture in
            let films = fixture.store.collection("Film", database: "RChat", app: StoreFixture.app)
            try await films.insertMany(Self.films)
            for search in [
                ["queryString": ["defaultPath": "title", "query": "trek AND plot:space"]],
                ["moreLikeThis": ["like": ["title": "trek"]]], ["term": ["query": "trek", "path": "title"]],
                ["search": ["query": "trek", "path": "title"]],
            ] as [Document] {
                var search = search
                search["highlight"] = ["path": "title"]
                let found = try await films.aggregate([
                    ["$searchBeta": .document(search)], ["$project": ["h": ["$meta": "searchHighlights"]]],
                ])
                #expect(found[0]["h"]?[0]?["texts"]?[1] == ["value": "Trek", "type": "hit"], "\(search): \(found)")
            }
        }
    }

    @Test func `nested compounds don't double the statement at each level`() async throws {
        var search: Value = ["text": ["query": "star", "path": "title"]]
        for _ in 0..<18 { search = ["compound": ["should": [search, ["exists": ["path": "title"]]]]] }
        try await check([(search.documentValue ?? [:], ["1", "2", "3", "4", "5"])])
    }
}
