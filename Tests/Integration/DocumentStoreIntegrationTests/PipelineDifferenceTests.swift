import DocumentModel
import DocumentStore
import QueryLanguage
import SyncEngine
import Testing
import Vectors

/// The store against the engine in memory: sorts, projections, pipelines and updates that follow from a seed.
struct PipelineDifferenceTests {
    @Test(arguments: [11, 12] as [UInt64])
    func `sorted and projected finds are the same`(seed: UInt64) async throws {
        try await StoreFixture.with { fixture in
            var source = RandomDocuments(generator: SeededGenerator(seed: seed))
            let documents = (0..<80).map { source.document($0) }
            let collection = fixture.store.collection("ChatMessage", database: "RChat", app: StoreFixture.app)
            try await collection.insertMany(documents)
            for _ in 0..<80 {
                var options = FindOptions()
                options.sort = source.sort()
                options.skip = source.pick([0, 0, 3])
                options.limit = source.pick([nil, 7, 40])
                options.projection = source.pick([nil, ["x": 1], ["y": 0], ["x.y": 1, "_id": 0], ["z": ["$slice": 1]]])
                let query = source.filter()
                let filter = try Filter(query)
                var matching = documents.filter { filter.matches($0, now: 0) }
                try Sort(options.sort ?? [:]).sort(&matching)
                let part = matching.dropFirst(options.skip).prefix(options.limit ?? .max)
                let projection = try options.projection.map { try Projection($0) }
                let expected = try part.map { try projection?.apply(to: $0, filter: filter) ?? $0 }
                let found = try await collection.find(query, options: options)
                compare(found, expected, "seed \(seed): \(query) \(options.sort ?? [:]) \(options.projection ?? [:])")
            }
        }
    }

    @Test(arguments: [21, 22] as [UInt64])
    func `pipelines are the same`(seed: UInt64) async throws {
        try await StoreFixture.with { fixture in
            var source = RandomDocuments(generator: SeededGenerator(seed: seed))
            let documents = (0..<80).map { source.document($0) }
            let collection = fixture.store.collection("ChatMessage", database: "RChat", app: StoreFixture.app)
            try await collection.insertMany(documents)
            for _ in 0..<80 {
                let stages = source.pipeline()
                let text = "seed \(seed): \(Value.array(stages.map { .document($0) }))"
                let expected: [Document]
                do {
                    expected = try await Pipeline(stages).run(documents, context: PipelineContext())
                } catch let error as QueryError {
                    let refused = await #expect(throws: DocumentStoreError.self, "\(text)") {
                        try await collection.aggregate(stages)
                    }
                    #expect(refused?.mongoCode == error.code, "\(text)")
                    continue
                }
                compare(try await collection.aggregate(stages), expected, text)
            }
        }
    }

    @Test(arguments: [31, 32] as [UInt64])
    func `updates are the same`(seed: UInt64) async throws {
        try await StoreFixture.with { fixture in
            var source = RandomDocuments(generator: SeededGenerator(seed: seed))
            var documents = (0..<60).map { source.document($0) }
            let collection = fixture.store.collection("ChatMessage", database: "RChat", app: StoreFixture.app)
            try await collection.insertMany(documents)
            for _ in 0..<120 {
                let place = Int.random(in: documents.indices, using: &source.generator)
                let update = source.update()
                let before = documents[place]
                let text = "seed \(seed): \(before) by \(update)"
                let key: Document = ["_id": before.id ?? .null]
                do {
                    try Update(update).apply(to: &documents[place], filter: Filter(key), now: 0)
                    try await collection.updateOne(key, update)
                } catch let error as QueryError {
                    let refused = await #expect(throws: DocumentStoreError.self, "\(text)") {
                        try await collection.updateOne(key, update)
                    }
                    #expect(refused?.mongoCode == error.code, "\(text)")
                }
                let after = try await collection.findOne(key)
                #expect(
                    after?.isIdentical(to: documents[place]) == true,
                    "\(text) is \(after ?? [:]) instead of \(documents[place])")
            }
        }
    }

    private func compare(_ found: [Document], _ expected: [Document], _ text: String) {
        let wanted = VectorCase(
            name: text, given: .null, operation: [:], expected: .array(expected.map { .document($0) }), isExact: true)
        let result = Value.array(found.map { .document($0) })
        if !wanted.accepts(result) { Issue.record("\(text) gives \(result) instead of \(wanted.expected)") }
    }
}

extension RandomDocuments {
    /// An order in which no two documents are alike.
    fileprivate mutating func sort() -> Document {
        var sort: Document = [pick(["x", "y", "x.y", "partition"]): pick([1, -1])]
        sort["_id"] = pick([1, -1])
        return sort
    }

    fileprivate mutating func pipeline() -> [Document] {
        var stages: [Document] = []
        if Bool.random(using: &generator) { stages.append(["$match": .document(filter())]) }
        if Bool.random(using: &generator) {
            let id: Value = pick(["$x", "$y", .null, ["$type": "$x"], ["a": "$x", "b": "$z"], "$x.y"])
            let field: Value = pick(["$x", "$y", "$z", "$x.y", 1])
            stages.append([
                "$group": [
                    "_id": id, "sum": ["$sum": field], "least": ["$min": field], "most": ["$max": field],
                    "count": ["$sum": 1],
                    "average": ["$avg": field],
                ]
            ])
            stages.append(["$sort": ["_id": 1]])
            return stages
        }
        stages.append(["$sort": .document(sort())])
        for _ in 0..<Int.random(in: 1...4, using: &generator) { stages.append(stage()) }
        return stages
    }

    private mutating func stage() -> Document {
        let path: Value = pick(["$x", "$y", "$z", "$x.y", "$_id"])
        return pick([
            ["$skip": 2], ["$limit": 20], ["$project": ["x": 1, "t": ["$type": path]]], ["$unset": "y"],
            ["$addFields": ["n": ["$ifNull": [path, "none"]], "x.k": ["$eq": [path, 5]]]], ["$unwind": path],
            ["$unwind": ["path": path, "preserveNullAndEmptyArrays": true, "includeArrayIndex": "i"]],
            ["$match": .document(filter())], ["$project": ["y": 0]], ["$set": ["m": ["$cond": [path, "yes", "no"]]]],
            ["$set": ["s": ["$size": path]]], ["$replaceWith": ["_id": "$_id", "r": path]], ["$count": "n"],
            ["$sortByCount": "$_id"], ["$set": ["c": ["$cmp": [path, scalar()]]]],
            ["$set": ["sum": ["$add": [path, 1]]]], ["$match": ["$expr": ["$gt": [path, scalar()]]]],
        ])
    }

    fileprivate mutating func update() -> Value {
        let path = pick(["x", "y", "x.y", "z.x", "x.0", "new", "y.new"])
        let operation = pick(
            [
                ("$set", value()), ("$unset", .bool(true)), ("$inc", pick([1, .double(0.5), .int64(7)])), ("$mul", 2),
                ("$min", scalar()), ("$max", scalar()), ("$push", value()),
                ("$push", ["$each": [1, 2], "$slice": -3]),
                ("$push", ["$each": [3], "$position": 0, "$sort": 1]), ("$addToSet", scalar()), ("$pull", scalar()),
                ("$pull", ["$gte": 5]), ("$pullAll", [5, "a"]), ("$pop", 1), ("$bit", ["or": 3]),
                ("$rename", "renamed"),
            ] as [(String, Value)])
        let second = pick(["other", "more"])
        return pick([
            [operation.0: [path: operation.1]], [operation.0: [path: operation.1], "$currentDate": [:]],
            [operation.0: [path: operation.1], "$set": [second: value()]],
            [["$set": [path: ["$ifNull": ["$y", scalar()]]]], ["$unset": "z"]],
        ])
    }
}
