import DocumentModel
import QueryLanguage
import Testing

@Suite struct HostileInputTests {
    private func evaluate(_ expression: Value, _ document: Document = [:]) throws -> Value? {
        try Expression(expression).evaluate(EvaluationContext(root: document))
    }

    private func nested(_ depth: Int, _ wrap: (Value) -> Value, _ innermost: Value = 1) -> Value {
        (0..<depth).reduce(innermost) { value, _ in wrap(value) }
    }

    @Test func `values that double in each step end with an error`() {
        let steps: Value = ["$range": [0, 60]]
        let bodies: [(Value, Value)] = [
            (["$concat": ["$$value", "$$value"]], "aaaa"),
            (["a": "$$value", "b": ["$$value", "$$value", "$$value"]], "text"),
            (["$replaceAll": ["input": "$$value", "find": "a", "replacement": "aaaaaaaaaaaaaaaa"]], "aaaa"),
        ]
        for (body, initial) in bodies {
            #expect(throws: QueryError.self) {
                try evaluate(["$reduce": ["input": steps, "initialValue": initial, "in": body]])
            }
        }
    }

    @Test func `a moving average over the largest number of documents has nearly no weight`() async throws {
        let average: Value = ["$expMovingAvg": ["input": "$a", "N": .int64(.max)]]
        let pipeline = try Pipeline([["$setWindowFields": ["sortBy": ["t": 1], "output": ["x": average]]]])
        func averages(_ first: Value, _ second: Value) async throws -> [Value?] {
            try await pipeline.run([["t": 1, "a": first], ["t": 2, "a": second]], context: PipelineContext())
                .map { $0["x"] }
        }
        #expect(try await averages(.double(1), .double(2)) == [.double(1), .double(1)])
        let decimals = try await averages(.decimal128(Decimal128(1)), .decimal128(Decimal128(2)))
        #expect(decimals.last??.typeName == "decimal")
    }

    @Test func `nesting without end is an error`() {
        let body: Value = ["a": "$$value"]
        let reduce: Value = ["$reduce": ["input": ["$range": [0, 100_000]], "initialValue": 1, "in": body]]
        let error = #expect(throws: QueryError.self) { try evaluate(reduce) }
        #expect(error?.code == 15)
    }

    @Test func `filters, expressions and schemas have a maximum depth`() {
        #expect(throws: QueryError.self) { try Filter(nested(200, { ["$and": [$0]] }, ["a": 1]).documentValue ?? [:]) }
        #expect(throws: QueryError.self) { try Filter(["a": nested(200, { ["$not": $0] }, ["$gt": 1])]) }
        #expect(throws: QueryError.self) { try Expression(nested(200, { ["$abs": $0] })) }
        #expect(throws: QueryError.self) { try Filter(["$jsonSchema": nested(200, { ["not": $0] }, [:])]) }
        #expect(throws: QueryError.self) {
            try Pipeline(nested(50, { [["$facet": ["a": $0]]] }, []))
        }
    }

    @Test func `the number of a path's parts is limited`() throws {
        func path(_ count: Int) -> String { Array(repeating: "a", count: count).joined(separator: ".") }
        _ = try Filter(Document(fields: [.init(path(100), 1)]))
        _ = try Update(["$set": .document(Document(fields: [.init(path(100), 1)]))])
        #expect(throws: QueryError.self) { try Filter(Document(fields: [.init(path(101), 1)])) }
        #expect(throws: QueryError.self) { try Update(["$set": .document(Document(fields: [.init(path(101), 1)]))]) }
    }

    @Test func `the number of a filter's values and patterns is limited`() throws {
        let values = { (count: Int) -> Value in .array((0..<count).map { .int32(Int32($0)) }) }
        _ = try Filter(["a": ["$in": values(50_000)], "b": ["$nin": values(50_000)]])
        let error = #expect(throws: QueryError.self) {
            try Filter(["a": ["$in": values(50_000)], "$or": [["b": ["$nin": values(50_001)]]]])
        }
        #expect(error?.code == 2 && error?.message.contains("100000 values") == true, "\(String(describing: error))")
        let pattern = Value.regex(RegularExpression("a", options: ""))
        #expect(throws: QueryError.self) {
            try Filter(["a": ["$in": .array(Array(repeating: pattern, count: 20_001))]])
        }
    }

    @Test func `an update makes no document that is too deep to be read`() throws {
        var document: Document = ["_id": 1]
        let path = Array(repeating: "a", count: 80).joined(separator: ".")
        let deep = nested(50, { ["b": $0] })
        #expect(throws: QueryError.self) { try Update(["$set": [path: deep]]) }
        #expect(throws: QueryError.self) {
            try Update(.document(deep.documentValue.map { ["x": .document($0)] } ?? [:])).apply(to: &document, now: 0)
            try Update(nested(120, { ["b": $0] })).apply(to: &document, now: 0)
        }
        let set = try Update(["$set": [path: 1]])
        try set.apply(to: &document, now: 0)
        #expect(try ExtendedJSON.parseDocument(ExtendedJSON.print(document)) == document)
    }

    @Test func `an update that fails leaves the document as it was`() throws {
        let before: Document = ["_id": 1, "a": 1, "b": "x", "c": [1, 2]]
        for update: Document in [
            ["$set": ["a": 2], "$inc": ["b": 1]], ["$push": ["a": 1]], ["$pull": ["b": 1]],
            ["$set": ["a": 5, "b.c": 1]], ["$set": ["_id": 2]],
        ] {
            var document = before
            #expect(throws: QueryError.self) { try Update(update).apply(to: &document, now: 0) }
            #expect(document == before)
        }
    }

    @Test func `numbers at the edges give results or errors`() throws {
        let edges: [Value] = [
            .int64(.min), .int64(.max), .int32(.min), .int32(.max), .double(.nan), .double(.infinity),
            .double(-.infinity), 1e300, -1e300, 0,
            -0.0, .decimal128(Decimal128("9.999999999999999999999999999999999E+6144") ?? .nan),
            .decimal128(Decimal128("-1E-6176") ?? .nan), .date(.min), .date(.max),
        ]
        let unary = [
            "$abs", "$ceil", "$floor", "$round", "$trunc", "$exp", "$ln", "$sqrt", "$toInt", "$toLong", "$toDouble",
            "$toDecimal", "$toDate", "$toString",
            "$bitNot", "$year", "$week", "$isoWeek", "$dayOfYear", "$dateToParts", "$dateToString", "$sin", "$size",
            "$bsonSize",
        ]
        let binary = [
            "$add", "$subtract", "$multiply", "$divide", "$mod", "$pow", "$log", "$round", "$trunc", "$cmp", "$bitAnd",
            "$atan2",
        ]
        for a in edges {
            // Either outcome is right; what counts is that it returns.
            for name in unary { _ = try? evaluate([name: .array([a])]) }
            _ = try? evaluate(["$slice": [[1, 2, 3], a]])
            _ = try? evaluate(["$arrayElemAt": [[1, 2, 3], a]])
            _ = try? evaluate(["$substrCP": ["abc", a, a]])
            _ = try? evaluate(["$substrBytes": ["abc", a, a]])
            _ = try? evaluate(["$indexOfCP": ["abc", "c", a]])
            _ = try? evaluate(["$dateFromParts": ["year": a, "month": a, "day": a, "second": a, "millisecond": a]])
            for unit in ["year", "quarter", "month", "week", "day", "hour", "millisecond"] {
                for date in [Value.date(.min), .date(.max), .date(0)] {
                    _ = try? evaluate(["$dateAdd": ["startDate": date, "unit": .string(unit), "amount": a]])
                    _ = try? evaluate(["$dateTrunc": ["date": date, "unit": .string(unit), "binSize": a]])
                    _ = try? evaluate(["$dateDiff": ["startDate": date, "endDate": a, "unit": .string(unit)]])
                    _ = try? evaluate(["$hour": ["date": date, "timezone": "Europe/Berlin"]])
                }
            }
            for b in edges {
                for name in binary { _ = try? evaluate([name: [a, b]]) }
                _ = try? evaluate(["$range": [a, b]])
                _ = try? evaluate(["$slice": [[1, 2, 3], a, b]])
                var document: Document = ["a": a, "l": [a, b]]
                _ = try? Update(["$inc": ["a": b], "$push": ["l": ["$each": [a], "$slice": b, "$position": a]]]).apply(
                    to: &document, now: 0)
                _ = try? Update(["$mul": ["a": b]]).apply(to: &document, now: 0)
                _ = try? Projection(["l": ["$slice": [a, b]]]).apply(to: document)
                _ = (try? Filter(["a": ["$mod": [a, b]]]))?.matches(document, now: 0)
                _ = (try? Filter(["a": ["$bitsAllSet": a, "$gt": b]]))?.matches(document, now: 0)
            }
        }
        for a in edges {
            _ = try? Pipeline([["$sort": ["a": 1]], ["$skip": a], ["$limit": a]])
        }
    }

    @Test func `limits add up without overflow`() async throws {
        let most = Value.int64(.max)
        let pipeline = try Pipeline([["$sort": ["_id": 1]], ["$skip": 1], ["$skip": most], ["$limit": most]])
        #expect(try await pipeline.run([["_id": 1]], context: PipelineContext()).isEmpty)
        let shift = try? Pipeline([
            ["$setWindowFields": ["sortBy": ["a": 1], "output": ["s": ["$shift": ["output": "$a", "by": most]]]]]
        ])
        #expect(shift == nil)
    }

    @Test func `a regular expression that explodes ends with an error`() throws {
        let text = String(repeating: "a", count: 40) + "!"
        let filter = try Filter(["a": ["$regex": "^(a+)+$"]])
        let clock = ContinuousClock()
        let start = clock.now
        #expect(throws: QueryError.self) { try filter.evaluate(["a": .string(text)], now: 0) }
        #expect(clock.now - start < .seconds(60))  // it would take 2^40 steps
        #expect(!filter.matches(["a": .string(text)], now: 0))
    }

    @Test(arguments: [#"(?=(a+))\1b"#, "(?=.*b).", "(?s)a.*[cd]", "a*a*[cd]"])
    func `a regular expression is evaluated on a text of some length, whatever it costs`(_ pattern: String) throws {
        let filter = try Filter(["a": .regex(RegularExpression(pattern, options: ""))])
        let text = String(repeating: "a", count: 5000)
        #expect(try !filter.evaluate(["a": .string(text)], now: 0))
        #expect(try filter.evaluate(["a": .string(text + "abc")], now: 0))
    }

    @Test(arguments: [
        #"(?=(a+))\1b"#, "(?=.*[cd]).", "(?:a*a*[cd]|b)*[ef]", "(?:a*[cd]|a|a)*[ef]", "(?s).*a.*a.*a[cd]",
    ])
    func `a regular expression whose time grows with the square of a long text ends, or is ended`(
        _ pattern: String
    ) async throws {
        let filter = try Filter(["a": .regex(RegularExpression(pattern, options: ""))])
        for count in [10_000, 300_000, 3_000_000] {
            let document: Document = ["a": .string(String(repeating: "a", count: count))]
            let start = ContinuousClock.now
            do {
                let isMatch = try filter.evaluate(document, now: 0)
                #expect(!isMatch)
            } catch {
                #expect(error.code == 51156, "\(error)")
            }
            #expect(ContinuousClock.now - start < .seconds(30))  // the longest would take days
        }
    }

    @Test func `a stage that holds too much ends with an error`() async throws {
        let pipeline = try Pipeline([["$group": ["_id": .null, "all": ["$push": "$$ROOT"]]]])
        let documents = (0..<1000).map {
            Document(fields: [.init("_id", .integer($0)), .init("text", .string(String(repeating: "x", count: 1000)))])
        }
        let error = await #expect(throws: QueryError.self) {
            try await pipeline.run(documents, context: PipelineContext(memoryLimit: 100_000))
        }
        #expect(error?.code == 292)
    }
}
