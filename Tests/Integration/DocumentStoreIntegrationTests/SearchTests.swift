import DocumentModel
import DocumentStore
import Testing

/// `$text` and `$search` over a few recipes.
@Suite struct SearchTests {
    private func with(_ body: @Sendable (DocumentCollection) async throws -> Void) async throws {
        try await StoreFixture.with { fixture in
            let recipes = fixture.store.collection("Recipe", database: "RChat", app: StoreFixture.app)
            try await recipes.insertMany([
                [
                    "_id": "1", "title": "Coffee cake", "text": "A cake to eat with coffee. Bake it slowly.",
                    "stars": 5, "kind": "cake",
                ],
                [
                    "_id": "2", "title": "Café au lait", "text": "Half milk, half strong coffee.", "stars": 3,
                    "kind": "drink",
                ],
                [
                    "_id": "3", "title": "Iced tea", "text": "Tea, ice and lemon.", "stars": 4, "kind": "drink",
                    "at": .date(1000),
                ],
                [
                    "_id": "4", "title": "Baked potatoes", "text": "Bake the potatoes; they are no cakes.", "stars": 2,
                    "tags": ["vegan", "oven dish"],
                ],
            ])
            try await body(recipes)
        }
    }

    private func ids(_ documents: [Document]) -> [String] { documents.compactMap { $0["_id"]?.stringValue } }

    @Test func `text finds words by their stems, phrases, and not what is excluded`() async throws {
        try await with { recipes in
            let missing = await #expect(throws: DocumentStoreError.self) {
                try await recipes.find(["$text": ["$search": "tea"]])
            }
            #expect(missing?.mongoCode == 27)
            try await recipes.createIndex(
                IndexModel(["key": ["title": "text", "text": "text"], "weights": ["title": 5]]))
            for (search, expected) in [
                (["$search": "cakes"], ["1", "4"]), (["$search": "tea milk"], ["2", "3"]),
                (["$search": "baking"], ["1", "4"]),
                (["$search": "cake -potato"], ["1"]), (["$search": "\"strong coffee\""], ["2"]),
                (["$search": "\"strong coffee\" tea"], ["2"]), (["$search": "cafe"], ["2"]),
                (["$search": "CAFÉ"], ["2"]),
                (["$search": "café", "$diacriticSensitive": true], ["2"]),
                (["$search": "cafe", "$diacriticSensitive": true], []),
                (["$search": "Tea", "$caseSensitive": true], ["3"]),
                (["$search": "Half", "$caseSensitive": true], ["2"]),
                (["$search": "COFFEE", "$caseSensitive": true], []), (["$search": "the"], []),
                (["$search": "cakes", "$language": "none"], []),
            ] as [(Document, [String])] {
                #expect(ids(try await recipes.find(["$text": .document(search)])).sorted() == expected, "\(search)")
            }
            #expect(try await recipes.countDocuments(["$text": ["$search": "coffee"], "stars": ["$gt": 3]]) == 1)
            #expect(try await recipes.countDocuments(["$text": ["$search": "\"strong coffee\" tea"]]) == 1)
            #expect(
                try await recipes.updateMany(["$text": ["$search": "\"strong coffee\" tea"]], ["$set": ["seen": true]])
                    .modifiedCount == 1)
        }
    }

    @Test func `the text score can be shown and sorted by`() async throws {
        try await with { recipes in
            try await recipes.createIndex(
                IndexModel(["key": ["title": "text", "text": "text"], "weights": ["title": 5]]))
            let score: Value = ["$meta": "textScore"]
            let found = try await recipes.find(
                ["$text": ["$search": "coffee"]],
                options: FindOptions(sort: ["score": score], limit: 2, projection: ["title": 1, "score": score]))
            #expect(ids(found) == ["1", "2"])
            #expect(found[0].fields.map(\.key) == ["_id", "title", "score"])
            #expect((found[0]["score"]?.doubleValue ?? 0) > (found[1]["score"]?.doubleValue ?? 9))
            let aggregated = try await recipes.aggregate([
                ["$match": ["$text": ["$search": "coffee"]]], ["$project": ["title": 1, "score": score]],
                ["$sort": ["score": score]],
            ])
            #expect(aggregated == found)
            let error = await #expect(throws: DocumentStoreError.self) {
                try await recipes.find([:], options: FindOptions(projection: ["score": score]))
            }
            #expect(error?.mongoCode == 40218)
        }
    }

    @Test func `search finds by each of its operators`() async throws {
        try await with { recipes in
            let text = { (query: Value) -> Value in ["text": ["query": query, "path": "text"]] }
            for (search, expected) in [
                (["text": ["query": "coffee", "path": ["title", "text"]]], ["1", "2"]),
                (["text": ["query": "oven", "path": ["wildcard": "*"]]], ["4"]),
                (["text": ["query": "coffe", "path": "text", "fuzzy": ["maxEdits": 1]]], ["1", "2"]),
                (["text": ["query": "half ice", "path": "text", "matchCriteria": "all"]], []),
                (["phrase": ["query": "strong coffee", "path": "text"]], ["2"]),
                (["phrase": ["query": "eat coffee", "path": "text", "slop": 1]], ["1"]),
                (["phrase": ["query": "eat coffee", "path": "text"]], []),
                (["autocomplete": ["query": "cof ca", "path": "title"]], ["1"]),
                (["autocomplete": ["query": "potatos", "path": "title", "fuzzy": [:]]], ["4"]),
                (["wildcard": ["query": "Ice*", "path": "title"]], ["3"]),
                (["wildcard": ["query": "pota?oes", "path": "title", "allowAnalyzedField": true]], ["4"]),
                (["exists": ["path": "tags"]], ["4"]), (["equals": ["path": "kind", "value": "cake"]], ["1"]),
                (["in": ["path": "stars", "value": [3, 4]]], ["2", "3"]),
                (["range": ["path": "stars", "gte": 4]], ["1", "3"]),
                (["near": ["path": "stars", "origin": 4, "pivot": 1]], ["3", "1", "2", "4"]),
                (["near": ["path": "at", "origin": .date(900), "pivot": 100]], ["3"]),
                (
                    [
                        "compound": [
                            "must": [text("coffee")], "mustNot": [["equals": ["path": "kind", "value": "drink"]]],
                            "should": [text("slowly")],
                        ]
                    ], ["1"]
                ),
                (
                    ["compound": ["should": [text("coffee"), text("milk"), text("tea")], "minimumShouldMatch": 2]],
                    ["2"]
                ),
                (
                    ["compound": ["filter": [["range": ["path": "stars", "lt": 4]]], "should": [text("potatoes")]]],
                    ["4", "2"]
                ),
                (
                    ["text": ["query": "coffee", "path": "text"], "index": "default", "sort": ["stars": 1]], ["2", "1"]
                ),
            ] as [(Document, [String])] {
                let found = ids(
                    try await recipes.aggregate([["$search": .document(search)], ["$project": ["title": 1]]]))
                let isOrdered = search["near"] != nil || search["compound"] != nil || search["sort"] != nil
                #expect((isOrdered ? found : found.sorted()) == expected, "\(search)")
            }
        }
    }

    @Test func `search shows scores, highlights, counts and facets`() async throws {
        try await with { recipes in
            let found = try await recipes.aggregate([
                [
                    "$search": [
                        "text": ["query": "coffee", "path": ["text", "title"], "score": ["constant": ["value": 7]]],
                        "highlight": ["path": "text"], "count": ["type": "total"],
                    ]
                ],
                ["$match": ["_id": "1"]],
                [
                    "$project": [
                        "_id": 0, "score": ["$meta": "searchScore"], "highlights": ["$meta": "searchHighlights"],
                        "meta": "$$SEARCH_META",
                    ]
                ],
            ])
            #expect(
                found == [
                    [
                        "score": 7.0,
                        "highlights": [
                            [
                                "path": "text",
                                "texts": [
                                    ["value": "A cake to eat with ", "type": "text"],
                                    ["value": "coffee", "type": "hit"],
                                    ["value": ".", "type": "text"],
                                ], "score": 1.0,
                            ]
                        ], "meta": ["count": ["total": 2]],
                    ]
                ])
            let meta = try await recipes.aggregate([
                [
                    "$searchMeta": [
                        "facet": [
                            "operator": ["range": ["path": "stars", "gte": 3]],
                            "facets": [
                                "kinds": ["type": "string", "path": "kind"],
                                "stars": [
                                    "type": "number", "path": "stars", "boundaries": [0, 4, 5], "default": "more",
                                ],
                            ],
                        ]
                    ]
                ]
            ])
            #expect(
                meta == [
                    [
                        "count": ["lowerBound": 3],
                        "facet": [
                            "kinds": ["buckets": [["_id": "drink", "count": 2], ["_id": "cake", "count": 1]]],
                            "stars": [
                                "buckets": [
                                    ["_id": 0, "count": 1], ["_id": 4, "count": 1], ["_id": "more", "count": 1],
                                ]
                            ],
                        ],
                    ]
                ])
        }
    }

    @Test func `search sorts by paths and by the score`() async throws {
        try await with { recipes in
            let text: Value = ["query": "coffee cakes", "path": ["title", "text"]]
            for (sort, expected) in [
                (["stars": 1], ["4", "2", "1"]), (["stars": ["order": -1]], ["1", "2", "4"]),
                (["score": ["$meta": "searchScore"]], ["1", "2", "4"]),
                (["score": ["$meta": "searchScore", "order": 1], "_id": -1], ["4", "2", "1"]),
            ] as [(Value, [String])] {
                let search: Value = ["text": text, "sort": sort]
                for name in ["$search", "$searchBeta"] {
                    let found = ids(try await recipes.aggregate([[name: search]]))
                    #expect(found == expected, "\(name) \(sort)")
                }
            }
        }
    }

    @Test func `a document with more words than can be searched doesn't make searches fail`() async throws {
        try await with { recipes in
            let words = (0..<250_000).map { "word\($0)" }.joined(separator: " ")
            try await recipes.insertMany([
                ["_id": "long", "text": .string(words)],
                [
                    "_id": "many",
                    "text": .array((0..<20).map { .string(String(words.dropFirst($0 * 90_000).prefix(90_000))) }),
                ],
            ])
            for (word, expected) in [("coffee", ["1", "2"]), ("word7", ["long", "many"]), ("word249999", [])] {
                let search: Value = ["text": ["query": .string(word), "path": "text"]]
                let found = ids(try await recipes.aggregate([["$search": search], ["$project": ["_id": 1]]]))
                #expect(found.sorted() == expected, "\(word)")
            }
        }
    }

    @Test func `what search doesn't support is refused by name`() async throws {
        try await with { recipes in
            for (search, code, word) in [
                (["span": ["term": ["query": "a", "path": "b"]]], 115, "span"),
                (["knnBeta": ["path": "b"]], 115, "knnBeta"),
                (["text": ["query": "a", "path": "b", "fuzz": [:]]], 8, "text.fuzz"),
                (["phrase": ["query": "a b c d e", "path": "b", "slop": 10]], 115, "slop"),
                (["text": ["query": .string(String(repeating: "a ", count: 1025)), "path": "b"]], 8, "1024"),
                (["text": ["query": "a"]], 8, "path"),
                (["text": ["query": "a", "path": "b", "synonyms": "c"]], 115, "synonyms"),
                ([:], 8, "required"), (["exists": ["path": "a"], "sort": ["a": ["order": 2]]], 8, "order"),
                (["exists": ["path": "a"], "sort": ["a": ["order": 1, "noData": "highest"]]], 115, "noData"),
                (
                    ["facet": ["facets": ["f": ["type": "number", "path": "a", "boundaries": [2, 1]]]]], 8,
                    "boundaries"
                ),
                (
                    ["text": ["query": "a", "path": "b", "score": ["function": ["score": "relevance"]]]], 115,
                    "function"
                ),
            ] as [(Document, Int, String)] {
                let error = await #expect(throws: DocumentStoreError.self) {
                    try await recipes.aggregate([["$search": .document(search)]])
                }
                #expect(
                    error?.mongoCode == code && error?.message.contains(word) == true,
                    "\(search): \(error.map { "\($0)" } ?? "")")
            }
            let second = await #expect(throws: DocumentStoreError.self) {
                try await recipes.aggregate([["$limit": 1], ["$search": ["exists": ["path": "a"]]]])
            }
            #expect(second?.mongoCode == 40602)
        }
    }
}
