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
}
