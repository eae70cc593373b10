import DocumentModel
import DocumentStore
import FunctionProtocol
import Functions
import Testing

/// `$search` and `$searchMeta` of users: their metadata tells only of what the user may read. One after the
/// other, since the tests of this target share the server's connections.
@Suite(.serialized) struct RuledSearchTests {
    /// Ann owns the first note and reads `text` and `n` of the second; the others are out of her reach.
    private static let notes: [Document] = [
        ["_id": 1, "owner": "ann", "text": "Coffee and cake", "n": .int32(1), "secret": "own coffee"],
        ["_id": 2, "owner": "bob", "shared": true, "text": "Coffee", "n": .int32(2), "secret": "coffee of bob"],
        ["_id": 3, "owner": "bob", "text": "coffee coffee", "n": .int32(3), "secret": "coffee of bob"],
        ["_id": 4, "owner": "ann", "text": "old coffee", "n": .int32(4), "archived": true],
        ["_id": 5, "owner": "ann", "text": "tea", "n": .int32(5)],
    ]

    private func with(_ body: @Sendable (RuledFixture) async throws -> Void) async throws {
        try await RuledFixture.with { fixture in
            try await fixture.collection("Note").insertMany(Self.notes)
            try await body(fixture)
        }
    }

    private func aggregate(
        _ fixture: RuledFixture, _ stages: [Document], of collection: String = "Note"
    ) async throws -> Value {
        try await fixture.call(
            "ann", "aggregate", collection, ["pipeline": .array(stages.map { .document($0) })])
    }

    private static let coffee: Value = ["query": "coffee", "path": "text"]

    @Test func `the score and the highlights of what the user may read are shown`() async throws {
        try await with { fixture in
            for name in ["$search", "$searchBeta"] {
                let found = try await aggregate(
                    fixture,
                    [
                        [name: ["text": Self.coffee, "highlight": ["path": ["text", "secret"]]]],
                        [
                            "$project": [
                                "score": ["$meta": "searchScore"], "highlights": ["$meta": "searchHighlights"],
                            ]
                        ],
                        ["$sort": ["_id": 1]],
                    ])
                #expect(found.arrayValue?.map { $0["_id"] } == [1, 2], "\(name)")
                for document in found.arrayValue ?? [] {
                    #expect((document["score"]?.doubleValue ?? 0) > 0, "\(document)")
                    #expect(document.documentValue?.keys == ["_id", "score", "highlights"])
                }
                let paths = found.arrayValue?.map { $0["highlights"]?.arrayValue?.map { $0["path"] } }
                #expect(paths == [["text", "secret"], ["text"]], "\(found)")
                #expect(!ExtendedJSON.print(found).contains("of bob"))
            }
        }
    }

    @Test func `counts and facets count only what the user may read`() async throws {
        try await with { fixture in
            let facets: Value = [
                "secrets": ["type": "string", "path": "secret"],
                "n": ["type": "number", "path": "n", "boundaries": [0, 2, 3], "default": "more"],
            ]
            let meta: Value = [
                "count": ["total": 2],
                "facet": [
                    "secrets": ["buckets": [["_id": "own coffee", "count": 1]]],
                    "n": [
                        "buckets": [["_id": 0, "count": 1], ["_id": 2, "count": 1], ["_id": "more", "count": 0]]
                    ],
                ],
            ]
            let search: Value = [
                "facet": ["operator": ["text": Self.coffee], "facets": facets], "count": ["type": "total"],
            ]
            #expect(try await aggregate(fixture, [["$searchMeta": search]]) == [meta])
            let beside = try await aggregate(
                fixture, [["$search": search], ["$project": ["_id": 0, "meta": "$$SEARCH_META"]], ["$limit": 1]])
            #expect(beside == [["meta": meta]])
            let paged = try await aggregate(
                fixture,
                [
                    ["$search": ["text": Self.coffee]], ["$limit": 1],
                    ["$facet": ["page": [["$project": ["_id": 1]]], "meta": [["$replaceWith": "$$SEARCH_META"]]]],
                ])
            #expect(paged[0]?["meta"] == [["count": ["lowerBound": 2]]], "\(paged)")
        }
    }

    @Test func `a search by a hidden field finds nothing and counts nothing`() async throws {
        try await with { fixture in
            for (search, expected) in [
                (["text": ["query": "coffee", "path": "secret"]], 1),
                (["text": ["query": "bob", "path": "secret"]], 0), (["exists": ["path": "secret"]], 1),
                (["text": ["query": "coffee", "path": ["wildcard": "*"]]], 1),
                (["text": Self.coffee, "sort": ["secret": 1]], 1),
                (["text": ["query": "coffee", "path": "text", "score": ["boost": ["path": "secret"]]]], 1),
                (["compound": ["must": [["text": Self.coffee]], "mustNot": [["exists": ["path": "secret"]]]]], 0),
                (["compound": ["must": [["text": Self.coffee]], "should": [["exists": ["path": "secret"]]]]], 1),
                (["queryString": ["defaultPath": "text", "query": "coffee OR secret:bob"]], 1),
                (["queryString": ["defaultPath": "text", "query": "coffee AND n:*"]], 2),
                (["queryString": ["defaultPath": "text", "query": "coffee NOT secret:*"]], 0),
                (["regex": ["query": ".*bob", "path": "secret"]], 0),
                (["regex": ["query": "coffee.*", "path": "text"]], 2),
                (["moreLikeThis": ["like": ["text": "coffee", "secret": "bob"]]], 1),
                (["moreLikeThis": ["like": ["text": "coffee"]]], 2),
                (["term": ["query": "bob", "path": "secret"]], 0), (["term": ["query": "coffee", "path": "text"]], 2),
                (["search": ["query": "bob", "path": "secret"]], 0),
                (["near": ["path": "n", "origin": 1, "pivot": 1]], 3),
                (["near": ["path": ["n", "secret"], "origin": 1, "pivot": 1]], 2),
            ] as [(Document, Int)] {
                let found = try await aggregate(fixture, [["$search": .document(search)]])
                #expect(found.arrayCount == expected, "\(search): \(found)")
                let meta = try await aggregate(fixture, [["$searchMeta": .document(search)]])
                #expect(meta[0]?["count"]?["lowerBound"] == .int64(Int64(expected)), "\(search): \(meta)")
            }
        }
    }

    @Test func `rules that ask functions decide what is found and counted`() async throws {
        try await RuledFixture.with { fixture in
            try await fixture.collection("Room").insertMany([
                ["_id": "open", "members": ["ann", "bob"]], ["_id": "closed", "members": ["bob"]],
            ])
            let messages: [Document] = (0..<30).map {
                ["_id": .int32($0), "room": $0 % 3 == 0 ? "open" : "closed", "text": "coffee", "author": "bob"]
            }
            try await fixture.collection("Message").insertMany(messages)
            let search: Value = ["text": Self.coffee]
            let found = try await aggregate(
                fixture, [["$search": search], ["$project": ["meta": "$$SEARCH_META"]]], of: "Message")
            #expect(found.arrayCount == 10)
            #expect(found[0]?["meta"] == ["count": ["lowerBound": 10]])
            let meta = try await aggregate(fixture, [["$searchMeta": search]], of: "Message")
            #expect(meta == [["count": ["lowerBound": 10]]])
        }
    }

    @Test func `documents that are hidden don't change a score`() async throws {
        try await with { fixture in
            let stages: [Document] = [
                ["$search": ["text": Self.coffee]], ["$project": ["score": ["$meta": "searchScore"]]],
            ]
            let before = try await aggregate(fixture, stages)
            let hidden: [Document] = (10..<60).map {
                ["_id": .int32($0), "owner": "bob", "text": "coffee and more coffee"]
            }
            try await fixture.collection("Note").insertMany(hidden)
            #expect(try await aggregate(fixture, stages) == before)
        }
    }

    @Test func `a user who sees everything gets the facets that the system gets`() async throws {
        try await RuledFixture.with { fixture in
            let until = Value.date(7_258_118_400_000)
            try await fixture.collection("Offer").insertMany([
                ["_id": 1, "until": until, "tags": ["a", "b", "b"], "lines": [["n": 1.5], ["n": [2, 9]]]],
                ["_id": 2, "until": until, "tags": "b", "lines": ["n": 1.5], "at": .date(1000)],
                [
                    "_id": 3, "until": until, "tags": ["é", 7, ["c"]], "lines": [["n": "x"], [["n": 3]]],
                    "at": .date(2000),
                ],
                ["_id": 4, "until": until, "at": 1000],
            ])
            let search: Document = [
                "$searchMeta": [
                    "facet": [
                        "operator": ["exists": ["path": "until"]],
                        "facets": [
                            "tags": ["type": "string", "path": "tags"],
                            "first": ["type": "string", "path": "tags", "numBuckets": 1],
                            "n": [
                                "type": "number", "path": "lines.n", "boundaries": [0, 2, 3], "default": "other",
                            ],
                            "at": [
                                "type": "date", "path": "at", "boundaries": [.date(0), .date(1500), .date(3000)],
                            ],
                        ],
                    ]
                ]
            ]
            let system = try await fixture.collection("Offer").aggregate([search])
            let user = try await aggregate(fixture, [search], of: "Offer")
            #expect(user == .array(system.map { .document($0) }))
            #expect(system[0]["facet"]?["first"]?["buckets"] == [["_id": "b", "count": 2]])
        }
    }

    @Test func `a search is explained, and one that writes is refused`() async throws {
        try await with { fixture in
            let search: Value = ["text": Self.coffee]
            let explained = try await fixture.call(
                "ann", "explain", "Note",
                [
                    "pipeline": [
                        ["$search": search], ["$limit": 1], ["$project": ["score": ["$meta": "searchScore"]]],
                    ]
                ])
            #expect(
                explained["stages"] == [
                    ["stage": "$search", "in": "both"], ["stage": "$limit", "in": "here"],
                    ["stage": "$project", "in": "here"],
                ])
            #expect(
                await fixture.refusal(
                    "ann", "aggregate", "Note", ["pipeline": [["$search": search], ["$out": "Other"]]])
                    == "NoMatchingRuleFound")
        }
    }
}
