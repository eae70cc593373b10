import DocumentModel
import EventLoop
import QueryLanguage
import Testing

/// Endless work is ended by limits.
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

    @Test func `ordinary loops are far within the limits`() throws {
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

    /// Work that once grew with the square of its input: each of these took minutes.
    @Test func `large texts, scopes and documents take time that grows with them`() throws {
        let text = String(repeating: "a", count: 400_000), wanted = String(repeating: "a", count: 200_000) + "b"
        let context = EvaluationContext(root: ["t": .string(text), "w": .string(wanted)])
        for name in ["$indexOfCP", "$indexOfBytes"] {
            #expect(try Expression([name: ["$t", "$w"]]).evaluate(context) == -1)
        }
        #expect(try Expression(["$size": ["$split": ["$t", "$w"]]]).evaluate(context) == 1)
        let matches: Value = [
            "$size": ["$regexFindAll": ["input": ["$substrBytes": ["$t", 0, 50_000]], "regex": "a"]]
        ]
        #expect(try Expression(matches).evaluate(context) == 50_000)
        let names = (0..<20_000).map { "v\($0)" }
        let variables = Document(fields: names.map { .init($0, 1) })
        #expect(try Expression(["$let": ["vars": .document(variables), "in": "$$v7"]]).evaluate(context) == 1)
        var document = Document(fields: [.init("_id", 1)] + names.map { .init($0, 1) })
        let other = Document(fields: names.map { .init($0 + "x", 1) })
        let description = try Update(other).apply(to: &document, now: 0)
        #expect(description.removedFields.count == 20_000 && description.updatedFields.count == 20_000)
        #expect(try Projection(other).apply(to: document).count == 20_001)
    }

    @Test func `updates of many paths take time that grows with them`() throws {
        let names = (0..<8_000).map { "v\(($0 * 7_919) % 8_000)" }
        let flat = Document(fields: names.map { .init($0, 1) })
        let nested = Document(fields: names.map { .init("a.\($0)", 2) })
        var document: Document = [
            "_id": 1, "a": .document(Document(fields: names.prefix(6_000).map { .init($0, 1) })),
        ]
        try Update(["$set": .document(Document(fields: flat.fields + nested.fields))]).apply(to: &document, now: 0)
        #expect(document.count == 8_002 && document["a"]?.documentValue?.count == 8_000)
        #expect(document["v7"] == 1 && document.value(at: Path("a.v7999")) == 2)
        let gone = flat.fields.prefix(7_000) + nested.fields.suffix(7_000)
        let description = try Update([
            "$unset": .document(Document(fields: Array(gone))), "$set": ["a.new": 3, "b": 4],
        ])
        .apply(to: &document, now: 0)
        #expect(description.removedFields.count == 14_000)
        let left = names.suffix(1_000) + ["b"], below = names.prefix(1_000) + ["new"]
        #expect(Set(document.keys) == Set(left + ["_id", "a"]) && document.keys.last == "b")
        #expect(Set(document["a"]?.documentValue?.keys ?? []) == Set(below))
    }

    @Test func `a sum of doubles is exact, and depends on no order`() async throws {
        let sums: [([Value], Double)] = [
            (Array(repeating: 0.1, count: 10), 1), ([1e100, 1, -1e100, 0.25], 1.25), ([0.1, 0.2, 0.3], 0.6),
            ([1, .double(0x1p-53), .double(0x1p-110)], 1.0.nextUp), ([1, .double(0x1p-53)], 1),
            ([.int64(1 << 53), 1, .double(0x1p-60)], 0x1p53 + 2),
        ]
        for (values, sum) in sums {
            for values in [values, values.reversed(), Array(values.dropFirst() + values.prefix(1))] {
                let documents = values.map { ["v": $0] as Document }
                let stages: [Document] = [["$group": ["_id": .null, "sum": ["$sum": "$v"]]]]
                let found = try await Pipeline(stages).run(documents, context: PipelineContext())
                #expect(found.first?["sum"]?.doubleValue == sum, "\(values)")
            }
        }
    }

    /// Work that exceeds no limit, and would take minutes.
    private static let patient: [(Value, Document)] = [
        ([["$match": ["$or": .array((0..<6_000).map { ["a": ["$gt": .integer(1_000_000 + $0)]] })]]], ["a": numbers]),
        (
            [
                [
                    "$match": [
                        "a": [
                            "$elemMatch": ["$or": .array((0..<6_000).map { ["x": ["$gt": .integer(1_000_000 + $0)]] })]
                        ]
                    ]
                ]
            ],
            ["a": .array(numbers.arrayValue?.map { ["x": $0] } ?? [])]
        ),
        (
            [["$project": ["v": ["$or": .array((0..<100_000).map { ["$in": [.integer(-1 - $0), "$a"]] })]]]],
            ["a": numbers]
        ),
        (
            [["$project": ["v": ["$map": ["input": ["$range": [0, 300_000]], "in": ["$eq": ["$d", "$d"]]]]]]],
            ["d": ["e": numbers]]
        ),
        (
            [["$match": ["a": ["$regex": "(a+)+b"]]]],
            ["a": .array((0..<100_000).map { .string(String(repeating: "a", count: 12) + String($0)) })]
        ),
    ]
    private static let numbers = Value.array((0..<100_000).map { .integer($0) })

    @Test(arguments: patient)
    func `long work on one document ends when the caller stops it`(stages: Value, document: Document) async throws {
        let pipeline = try Pipeline(stages)
        let looks = Locked(0)
        let error = await #expect(throws: QueryError.self) {
            let interruption = Interruption {
                let count = looks.withLock {
                    $0 += 1; return $0
                }
                return count < 5 ? nil : QueryError(code: 50, message: "enough")
            }
            try await Interruption.$current.withValue(interruption) {
                _ = try await pipeline.run([document], context: PipelineContext())
            }
        }
        #expect(error?.code == 50)
    }

    @Test func `the number of a filter's conditions is limited`() {
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
