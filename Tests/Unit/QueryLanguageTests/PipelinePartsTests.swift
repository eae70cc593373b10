import DocumentModel
import QueryLanguage
import Testing

/// How much stages pass on at a time.
struct PipelinePartsTests {
    private func parts(_ stages: [Document], of documents: [Document]) async throws -> [[Document]] {
        var run = PipelineRun(try Pipeline(stages), context: PipelineContext())
        var parts: [[Document]] = []
        try await run.process(documents) { parts.append($0) }
        try await run.finish { parts.append($0) }
        return parts
    }

    @Test func `large results are passed on before they are complete`() async throws {
        let half: Value = .string(String(repeating: "x", count: 1 << 19))
        let documents: [Document] = (0..<20).map { ["_id": .integer($0), "half": half] }
        let parts = try await parts(
            [["$set": ["whole": ["$concat": ["$half", "$half"]]]], ["$replaceWith": ["x": "$whole", "id": "$_id"]]],
            of: documents)
        #expect(parts.joined().map { $0["id"] } == documents.map { $0["_id"] })
        #expect(parts.allSatisfy { $0.count <= 4 })
    }

    @Test func `many results are passed on in batches, as far as they are wanted`() async throws {
        let list = Value.array((0..<100_000).map { .integer($0) })
        let parts = try await parts([["$unwind": "$x"]], of: [["x": list], ["x": 5]])
        #expect(parts.map(\.count) == Array(repeating: 256, count: 390) + [161])
        let first = try await self.parts([["$unwind": "$x"], ["$limit": 3]], of: [["x": list], ["x": list]])
        #expect(first == [[["x": 0], ["x": 1], ["x": 2]]])
    }

    @Test func `results that are kept in memory have a bound`() async throws {
        let list = Value.array((0..<100_000).map { .integer($0) })
        var run = PipelineRun(try Pipeline([["$unwind": "$x"]]), context: PipelineContext(memoryLimit: 1 << 20))
        let error = await #expect(throws: QueryError.self) { _ = try await run.process([["x": list]]) }
        #expect(error?.code == 292)
    }

    /// Each keeps whole documents, or makes values that grow with their number.
    private static let keeping: [Value] = [
        [["$bucket": ["groupBy": ["$literal": 1], "boundaries": [0, 2], "output": ["a": ["$push": "$$ROOT"]]]]],
        [["$group": ["_id": .null, "a": ["$firstN": ["input": "$$ROOT", "n": 1_000_000]]]]],
        [["$group": ["_id": .null, "a": ["$lastN": ["input": "$$ROOT", "n": 1_000_000]]]]],
        [["$group": ["_id": .null, "a": ["$maxN": ["input": "$$ROOT", "n": 1_000_000]]]]],
        [["$group": ["_id": .null, "a": ["$topN": ["output": "$$ROOT", "sortBy": ["_id": 1], "n": 1_000_000]]]]],
        [["$group": ["_id": "$_id", "a": ["$last": "$$ROOT"]]]],
        [["$group": ["_id": "$_id", "a": ["$first": "$$ROOT"]]]],
        [["$group": ["_id": "$_id", "a": ["$mergeObjects": "$$ROOT"]]]],
        [["$group": ["_id": .null, "a": ["$push": "$half"]]]],
        [["$sort": ["_id": -1]], ["$limit": 50_000]],
        [
            [
                "$setWindowFields": [
                    "sortBy": ["_id": 1],
                    "output": ["x": ["$push": "$_id", "window": ["documents": ["unbounded", "current"]]]],
                ]
            ], ["$count": "n"],
        ],
        [["$setWindowFields": ["sortBy": ["_id": 1], "output": ["x": ["$shift": ["output": "$$ROOT", "by": 1]]]]]],
    ]

    @Test(arguments: keeping)
    func `what a stage keeps counts towards its memory`(_ stages: Value) async throws {
        let half: Value = .string(String(repeating: "x", count: 1000))
        func run(_ count: Int) async throws -> Int {
            let context = PipelineContext(memoryLimit: 4 << 20)
            var run = PipelineRun(try Pipeline(stages), context: context)
            let documents: [Document] = (0..<count).map { ["_id": .integer($0), "half": half] }
            var results = 0
            for start in stride(from: 0, to: count, by: 256) {
                try await run.process(Array(documents[start..<min(start + 256, count)])) { results += $0.count }
            }
            try await run.finish { results += $0.count }
            return results
        }
        #expect(try await run(300) > 0)
        let error = await #expect(throws: QueryError.self) { _ = try await run(5000) }
        #expect(error?.code == 292)
    }

    @Test func `what a stage keeps no longer doesn't count`() async throws {
        let half: Value = .string(String(repeating: "x", count: 1000))
        let documents: [Document] = (0..<20_000).map { ["_id": .integer($0 * 7919 % 20_000), "half": half] }
        for stages: Value in [
            [["$sort": ["_id": 1]], ["$limit": 10]], [["$sort": ["_id": -1]], ["$limit": 2000]],
            [["$group": ["_id": .null, "a": ["$last": "$$ROOT"], "b": ["$max": "$$ROOT"]]]],
            [["$group": ["_id": .null, "a": ["$lastN": ["input": "$$ROOT", "n": 100]]]]],
            [["$group": ["_id": .null, "a": ["$bottomN": ["output": "$$ROOT", "sortBy": ["_id": 1], "n": 100]]]]],
            [["$group": ["_id": .null, "a": ["$addToSet": "$half"]]]],
        ] {
            var run = PipelineRun(try Pipeline(stages), context: PipelineContext(memoryLimit: 4 << 20))
            var results: [Document] = []
            for start in stride(from: 0, to: documents.count, by: 256) {
                try await run.process(Array(documents[start..<min(start + 256, documents.count)])) { results += $0 }
            }
            try await run.finish { results += $0 }
            #expect(!results.isEmpty, "\(stages)")
            if results.count == 10 { #expect(results.map { $0["_id"] } == (0..<10).map { .integer($0) }) }
        }
    }
}
