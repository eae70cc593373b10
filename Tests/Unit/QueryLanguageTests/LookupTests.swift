import DocumentModel
import QueryLanguage
import Synchronization
import Testing

/// The queries that joins make to the other collection.
struct LookupTests {
    private static let values: [Value?] = [
        1, 2.0, .int64(3), "a", .null, nil, [1, 2], ["a"], [], ["k": 1], [["k": 1], ["k": 2]], .bool(true),
        .regex(RegularExpression("a")), .double(.nan),
    ]

    private static func documents(_ field: String) -> [Document] {
        values.enumerated().map { place, value in
            var document: Document = ["_id": .integer(place), "even": .bool(place.isMultiple(of: 2))]
            document[field] = value
            return document
        }
    }

    /// The results with a source that applies filters, and with one that returns everything; and the queries that were made.
    private func run(_ stage: Document) async throws -> (narrow: [Document], wide: [Document], asked: [Document]) {
        let others = Self.documents("y")
        let asked = Mutex<[Document]>([])
        let pipeline = try Pipeline([stage])
        let context = PipelineContext { _, filter in
            asked.withLock { $0.append(filter.document) }
            var found: [Document] = []
            for document in others where try filter.evaluate(document, now: 0) { found.append(document) }
            return found
        }
        let narrow = try await pipeline.run(Self.documents("x"), context: context)
        let wide = try await pipeline.run(Self.documents("x"), context: PipelineContext { _, _ in others })
        return (narrow, wide, asked.withLock { $0 })
    }

    @Test(
        arguments: [
            [["$match": ["$expr": ["$eq": ["$y", "$$x"]]]]],
            [["$match": ["$expr": ["$eq": ["$$x", "$y"]]]]],
            [["$match": ["$expr": ["$eq": ["$y.k", "$$x.k"]]]]],
            [["$match": ["$expr": ["$in": ["$y", "$$list"]]]]],
            [["$match": ["$expr": ["$and": [["$eq": ["$y", "$$x"]], ["$gt": ["$_id", "$$id"]]]]]]],
            [["$match": ["even": true, "$expr": ["$eq": ["$y", "$$x"]]]], ["$project": ["y": 1]]],
            [["$match": ["$and": [["even": true], ["$expr": ["$eq": ["$_id", "$$id"]]]]]]],
            [["$match": ["$or": [["even": true], ["$expr": ["$eq": ["$y", "$$x"]]]]]]],
            [["$match": ["$expr": ["$ne": ["$y", "$$x"]]]]],
            [["$match": ["y": ["$gt": 1]]], ["$count": "n"]],
            [["$sort": ["_id": -1]], ["$match": ["even": true]]],
        ] as [[Document]])
    func `a pipeline's first match narrows the query, and not the result`(stages: [Document]) async throws {
        let (narrow, wide, _) = try await run([
            "$lookup": [
                "from": "others", "let": ["x": "$x", "id": "$_id", "list": ["$x", 1, "a"]],
                "pipeline": .array(stages.map { .document($0) }), "as": "found",
            ]
        ])
        #expect(narrow == wide)
    }

    @Test func `one query is made for all documents of a batch`() async throws {
        let (_, _, asked) = try await run([
            "$lookup": [
                "from": "others", "let": ["id": "$_id"],
                "pipeline": [["$match": ["even": true, "$expr": ["$eq": ["$_id", "$$id"]]]]], "as": "found",
            ]
        ])
        let ids = Value.array(Self.values.indices.map { .integer($0) })
        #expect(asked == [["$and": [["even": true], ["_id": ["$in": ids]]]]])
    }

    @Test func `a union queries by the beginning of its pipeline`() async throws {
        let stage: Document = ["$unionWith": ["coll": "others", "pipeline": [["$match": ["even": true, "y": "a"]]]]]
        let (narrow, wide, asked) = try await run(stage)
        #expect(narrow == wide)
        #expect(asked == [["$and": [["even": true], ["y": "a"]]]])
    }
}
