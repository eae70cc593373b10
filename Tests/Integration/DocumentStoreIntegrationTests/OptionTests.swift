import DocumentModel
import DocumentStore
import Testing

/// Options of reads and writes that change what they mean.
@Suite struct OptionTests {
    private func messages(_ fixture: StoreFixture) -> DocumentCollection {
        fixture.store.collection("ChatMessage", database: "RChat", app: StoreFixture.app)
    }

    @Test func `conditions nested in negations and branches don't take longer with each level`() async throws {
        try await StoreFixture.with { fixture in
            let collection = messages(fixture)
            try await collection.insertMany((1...5).map { ["_id": .int32($0), "partition": "p", "n": .int32($0)] })
            try await collection.createIndex(IndexModel([.init("n")]))
            func nested(_ depth: Int, _ innermost: Document, _ wrap: (Document) -> Document) -> Document {
                (0..<depth).reduce(innermost) { filter, _ in wrap(filter) }
            }
            let two: Document = ["n": ["$gte": 2], "n2": ["$exists": false]]
            let start = ContinuousClock.now
            for depth in [1, 2, 3, 44, 45] {
                let negated = nested(depth, two) { ["$nor": [.document($0)]] }
                #expect(try await collection.countDocuments(negated) == (depth.isMultiple(of: 2) ? 4 : 1), "\(depth)")
                let not = (0..<depth).reduce(["$gte": 2] as Value) { condition, _ in ["$not": condition] }
                #expect(
                    try await collection.countDocuments(["n": not]) == (depth.isMultiple(of: 2) ? 4 : 1), "\(depth)")
                let branches = nested(depth, two) { ["n": ["$gt": 3], "x": ["$size": 0], "$or": [.document($0)]] }
                #expect(try await collection.countDocuments(branches) == 0)
                let open = nested(depth, two) { ["n": ["$ne": 3], "x": ["$ne": ["a": 1]], "$or": [.document($0)]] }
                #expect(try await collection.countDocuments(open) == 3)
            }
            // A condition names each prefix of its path.
            let deep = Array(repeating: "a", count: 100).joined(separator: ".")
            let many = (0..<2000).map { Value.document(Document(fields: [.init(deep + "\($0)", 1)])) }
            #expect(try await collection.countDocuments(["$or": .array(many)]) == 0)
            #expect(try await collection.countDocuments(["$nor": .array(many)]) == 5)
            #expect(ContinuousClock.now - start < .seconds(30))
        }
    }

    @Test func `expressions see the variables of let`() async throws {
        try await StoreFixture.with { fixture in
            let collection = messages(fixture)
            try await collection.insertMany((1...5).map { ["_id": .int32($0), "partition": "p", "n": .int32($0)] })
            let variables: Document = ["least": ["$add": [2, 1]], "name": ["$literal": "$x"]]
            let filter: Document = ["$expr": ["$gte": ["$n", "$$least"]]]
            let found = try await collection.find(
                filter, options: FindOptions(projection: ["_id": 0, "q": "$$name"], variables: variables))
            #expect(found == [["q": "$x"], ["q": "$x"], ["q": "$x"]])
            #expect(try await collection.countDocuments(filter, options: FindOptions(variables: variables)) == 3)
            let stages: [Document] = [["$match": .document(filter)], ["$project": ["_id": 0, "q": "$$least"]]]
            let results = try await collection.aggregate(stages, options: AggregateOptions(variables: variables))
            #expect(results == [["q": 3], ["q": 3], ["q": 3]])
            let counts = try await collection.aggregate(
                [["$match": .document(filter)], ["$count": "n"]], options: AggregateOptions(variables: variables))
            #expect(counts == [["n": 3]])
            let update: Value = [["$set": ["met": "$$least"]]]
            try await collection.updateOne(filter, update, options: UpdateOptions(variables: variables))
            #expect(try await collection.find(["met": 3]).map { $0["n"] } == [3])
            try await collection.updateMany(filter, update, options: UpdateOptions(variables: variables))
            #expect(try await collection.countDocuments(["met": 3]) == 3)
            let taken = try await collection.findOneAndUpdate(
                filter, [["$set": ["met": ["$add": ["$$least", 1]]]]],
                options: FindAndModifyOptions(projection: ["met": "$$least"], returnNew: true, variables: variables))
            #expect(taken == ["_id": 3, "met": 3])
            #expect(try await collection.deleteMany(filter, options: DeleteOptions(variables: variables)) == 3)
            for (wrong, code) in [(["X": 1], 9), (["x": "$n"], 4_890_500), (["x": ["$add": ["$n", 1]]], 4_890_500)]
                as [(Document, Int)]
            {
                let error = await #expect(throws: DocumentStoreError.self) {
                    try await collection.find(options: FindOptions(variables: wrong))
                }
                #expect(error?.mongoCode == code)
            }
        }
    }

    @Test func `updateOne and replaceOne write the first of a sort`() async throws {
        try await StoreFixture.with { fixture in
            let collection = messages(fixture)
            try await collection.insertMany((1...5).map { ["_id": .int32($0), "partition": "p", "n": .int32($0 % 4)] })
            let sort: Document = ["n": -1, "_id": 1]
            try await collection.updateOne([:], ["$set": ["met": 1]], options: UpdateOptions(sort: sort))
            #expect(try await collection.findOne(["met": 1])?["_id"] == 3)
            try await collection.replaceOne(
                [:], ["partition": "p", "met": 2], options: UpdateOptions(sort: ["_id": -1]))
            #expect(try await collection.findOne(["met": 2])?["_id"] == 5)
            let result = try await collection.bulkWrite([
                .updateOne(
                    filter: [:], update: ["$set": ["met": 3]], options: UpdateOptions(sort: ["n": 1, "_id": -1])),
                .updateOne(filter: [:], update: ["$set": ["met": 4]], options: UpdateOptions(sort: ["$natural": -1])),
            ])
            #expect(result.modifiedCount == 2)
            #expect(try await collection.find(["met": ["$gte": 3]]).map { $0["met"] } == [4])
        }
    }

    @Test func `distinct treats as equal what the collation does`() async throws {
        try await StoreFixture.with { fixture in
            let collection = messages(fixture)
            try await collection.insertMany(
                ["b", "A", "a", "B", "é", "E"].enumerated().map {
                    ["_id": .int32(Int32($0)), "partition": "p", "s": .string($1), "l": [.string($1), "c"]]
                })
            #expect(try await collection.distinct("s") == ["A", "B", "E", "a", "b", "é"])
            let strength = { (number: Int32) in FindOptions(collation: ["locale": "en", "strength": .int32(number)]) }
            #expect(try await collection.distinct("s", options: strength(2)) == ["A", "b", "E", "é"])
            #expect(try await collection.distinct("s", options: strength(1)) == ["A", "b", "é"])
            #expect(try await collection.distinct("l", options: strength(1)) == ["A", "b", "c", "é"])
            #expect(try await collection.distinct("s", ["s": "B"], options: strength(2)) == ["b"])
        }
    }

    @Test func `decimals keep their exact bits`() async throws {
        try await StoreFixture.with { fixture in
            let collection = messages(fixture)
            let texts = ["1.0", "1.00", "-0E+3", "0E-6176", "NaN", "-Infinity", "1E+6111", "9.999E-20"]
            var decimals = texts.compactMap { Decimal128($0) }
            #expect(decimals.count == texts.count)
            decimals += [
                Decimal128(high: 0x7C00_0000_0000_0000, low: 0x12), Decimal128(high: 0xFC00_0000_0000_0000, low: 0),
                Decimal128(high: 0x7E00_0000_0000_0000, low: 7), Decimal128(high: 0x7800_0000_0000_0000, low: 3),
                Decimal128(high: 0x6C10_0000_0000_0000, low: 1), Decimal128(high: 0x3041_FFFF_FFFF_FFFF, low: .max),
            ]
            try await collection.insertMany(
                decimals.enumerated().map { ["_id": .int32(Int32($0)), "partition": "p", "d": .decimal128($1)] })
            try await collection.updateMany([:], ["$set": ["seen": true]])
            #expect(try await collection.find().map { $0["d"]?.decimalBits } == decimals.map { [$0.high, $0.low] })
            let byId = try await collection.findOne(["_id": 8])
            #expect(byId?["d"]?.decimalBits == [decimals[8].high, decimals[8].low])
            // Writes of others to other fields leave it unchanged.
            try await fixture.client.execute(
                "update \(fixture.table) set document = document || '{\"by\": \"hand\"}' where _id = 'l:8'")
            #expect(try await collection.findOne(["_id": 8])?["d"]?.decimalBits == byId?["d"]?.decimalBits)
            #expect(try await collection.countDocuments(["d": .decimal128(.nan)]) == 4)
        }
    }
}

extension Value {
    fileprivate var decimalBits: [UInt64]? {
        if case .decimal128(let number) = self { [number.high, number.low] } else { nil }
    }
}
