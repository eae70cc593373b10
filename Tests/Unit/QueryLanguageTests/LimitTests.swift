import DocumentModel
import QueryLanguage
import Testing

/// Work without end is refused within limits.
@Suite struct LimitTests {
    private static let million: Value = ["$range": [0, 1_000_000]]

    /// Each multiplies its work by loops, sizes or copies.
    private static let hostile: [Value] = [
        ["$map": ["input": million, "in": ["$map": ["input": million, "in": 1]]]],
        ["$reduce": ["input": million, "initialValue": [million], "in": "$$value"]],
        ["$map": ["input": million, "in": ["$size": million]]],
        ["$filter": ["input": million, "cond": ["$in": ["x", million]]]],
        [
            "$map": [
                "input": ["$range": [0, 100_000]],
                "in": ["$regexMatch": ["input": "aaaaaaaaaaaaaaaaaaaaaa", "regex": "(a+)+b"]],
            ]
        ],
        ["$reduce": ["input": million, "initialValue": "x", "in": ["$concat": ["$$value", "$$value"]]]],
        ["$zip": ["inputs": [million, million, million], "useLongestLength": true]],
        ["$range": [0, 2_000_000_000]],
        ["$map": ["input": million, "in": ["$let": ["vars": ["a": million], "in": 1]]]],
    ]

    @Test(arguments: hostile)
    func `an expression that multiplies its work ends with an error`(expression: Value) throws {
        let clock = ContinuousClock()
        let start = clock.now
        #expect(throws: QueryError.self) { try Expression(expression).evaluate(EvaluationContext(root: [:])) }
        // Seconds in a debug build on a busy machine; without limits hours.
        #expect(clock.now - start < .seconds(60))
    }

    @Test func `honest loops are far within the limits`() throws {
        let sum: Value = [
            "$sum": ["$map": ["input": ["$range": [0, 1000]], "in": ["$size": ["$range": [0, "$$this"]]]]]
        ]
        #expect(try Expression(sum).evaluate(EvaluationContext(root: [:])) == 499_500)
    }

    @Test func `documents of many fields are made in time that grows with them`() throws {
        let pairs: Value = ["$map": ["input": ["$range": [0, 100_000]], "in": [["$toString": "$$this"], "$$this"]]]
        let made = try Expression(["$arrayToObject": pairs]).evaluate(EvaluationContext(root: [:]))
        #expect(made?.documentValue?.count == 100_000)
    }

    @Test func `a filter has a number of conditions`() {
        let many = Value.array((0..<30_000).map { ["a": .integer($0)] })
        let error = #expect(throws: QueryError.self) { try Filter(["$or": many]) }
        #expect(error?.code == 2)
    }

    @Test func `unwinding again and again holds no more than the limit`() async throws {
        let list = Value.array((0..<1000).map { .integer($0) })
        let pipeline = try Pipeline([
            ["$unwind": "$a"], ["$unwind": "$b"], ["$unwind": "$c"], ["$unwind": "$d"], ["$limit": 5],
        ])
        let results = try await pipeline.run(
            [["_id": 1, "a": list, "b": list, "c": list, "d": list]], context: PipelineContext())
        #expect(results.count == 5)
        let endless = try Pipeline([["$unwind": "$a"], ["$unwind": "$b"], ["$unwind": "$c"]])
        let error = await #expect(throws: QueryError.self) {
            try await endless.run(
                [["_id": 1, "a": list, "b": list, "c": list]], context: PipelineContext(memoryLimit: 10_000_000))
        }
        #expect(error?.code == 292)
    }

    @Test func `a cancelled task ends its pipeline`() async throws {
        let list = Value.array((0..<1000).map { .integer($0) })
        let pipeline = try Pipeline([["$unwind": "$a"], ["$unwind": "$b"], ["$unwind": "$c"], ["$count": "n"]])
        let task = Task {
            try await pipeline.run([["_id": 1, "a": list, "b": list, "c": list]], context: PipelineContext())
        }
        task.cancel()
        let error = await #expect(throws: QueryError.self) { try await task.value }
        #expect(error?.code == 11601)
    }
}
