import DocumentModel
import DocumentStore
import TestSupport
import Testing

/// What a user finds has the same order, whether an index has it or not.
@Suite struct RuledOrderTests {
    @Test(arguments: [false, true])
    func `order and limits apply to what the user may see, also with an index`(isIndexed: Bool) async throws {
        try await RuledFixture.with { fixture in
            let notes = fixture.collection("Note")
            try await notes.insertMany(
                (0..<20).map { number in
                    [
                        "_id": .integer(number), "owner": number % 3 == 0 ? "ann" : "bob",
                        "n": .int32(Int32(19 - number)),
                        "text": .string("words \(number)"), "shared": number % 3 == 1 ? true : false,
                        "secret": .integer(number % 4),
                    ]
                })
            try await notes.createIndex(IndexModel([.init("text", .text)]))
            if isIndexed { try await notes.createIndexes([IndexModel([.init("n")]), IndexModel([.init("secret")])]) }
            func ids(_ action: String, _ arguments: Document) async throws -> [Int] {
                try await fixture.call("ann", action, "Note", arguments).arrayValue?.compactMap { $0["_id"]?.intValue }
                    ?? []
            }
            #expect(try await ids("find", ["sort": ["n": 1], "skip": 1, "limit": 3]) == [18, 16, 15])
            #expect(
                try await ids(
                    "aggregate",
                    ["pipeline": [["$sort": ["n": -1]], ["$skip": 1], ["$limit": 2], ["$project": ["n": 1]]]])
                    == [1, 3])
            // In a sort, a hidden field of others' documents counts as missing: they come first.
            #expect(
                try await ids("find", ["sort": ["secret": 1, "_id": 1]]) == [
                    1, 4, 7, 10, 13, 16, 19, 0, 12, 9, 6, 18, 3, 15,
                ])
            #expect(try await ids("find", ["sort": ["secret": 1], "limit": 7]).sorted() == [1, 4, 7, 10, 13, 16, 19])
            let explained = try await fixture.call("ann", "explain", "Note", ["sort": ["n": 1], "limit": 2])
            #expect(explained["indexes"] == (isIndexed ? ["n_1"] : []))
            #expect(explained["postgres"] == nil)
            // Only the store knows words; a positional projection isn't needed for them.
            #expect(
                try await ids("find", ["filter": ["$text": ["$search": "words"]], "projection": ["n": 1]]).count == 7)
            #expect(
                try await ids("find", ["filter": ["$text": ["$search": "words"], "n": ["$gt": 0]]]).count
                    == ids("find", ["filter": ["n": ["$gt": 0], "owner": "ann"]]).count)
        }
    }
}
