import DocumentModel
import DocumentStore
import TestSupport
import Testing

@Suite struct ScriptErrorTests {
    private static let catching = """
        const items = context.services.get("mongodb-atlas").db("Test").collection("Item");
        const caught = async call => {
          try { return await call(); } catch (e) {
            return { name: e.name, code: e.code, key: [e.keyPattern, e.keyValue], inserted: e.result?.insertedCount,
              places: (e.writeErrors ?? []).map(w => [w.index, w.code]), isAgain: e.hasErrorLabel("TransientTransactionError") };
          }
        };
        """

    @Test func `a script sees errors as MongoDB's drivers report them`() async throws {
        try await PoolFixture.with { fixture in
            let seen = try await fixture.run(
                """
                exports = async () => {
                  \(Self.catching)
                  await items.insertOne({_id: "a"});
                  return [
                    await caught(() => items.insertOne({_id: "a"})),
                    await caught(() => items.insertMany([{_id: "b"}, {_id: "a"}, {_id: "b"}, {_id: "c"}], {ordered: false})),
                    await caught(() => items.find({}).hint("none").toArray()),
                  ];
                };
                """)
            #expect(
                seen == [
                    [
                        "name": "MongoDBError", "code": 11000, "key": [["_id": 1], ["_id": "a"]], "places": [],
                        "isAgain": false,
                    ],
                    [
                        "name": "MongoDBError", "code": 11000, "key": [.null, .null], "inserted": 2,
                        "places": [[1, 11000], [2, 11000]], "isAgain": false,
                    ],
                    ["name": "MongoDBError", "code": 2, "key": [.null, .null], "places": [], "isAgain": false],
                ], "\(seen)")
            #expect(try await fixture.items.countDocuments() == 3)
        }
    }

    @Test func `a condition that is undefined is refused, wherever it stands, and changes nothing`() async throws {
        try await PoolFixture.with { fixture in
            try await fixture.items.insertMany([["_id": "a"], ["_id": "b"]])
            let seen = try await fixture.run(
                """
                exports = async () => {
                  \(Self.catching)
                  const missing = {}.owner;
                  const calls = [
                    () => items.deleteMany({owner: missing}), () => items.updateMany({owner: missing}, {$set: {n: 1}}),
                    () => items.find({owner: {$in: [missing]}}).toArray(), () => items.findOne({$and: [{a: 1}, {b: missing}]}),
                    () => items.count({a: {$eq: missing}}), () => items.distinct("a", {b: missing}),
                    () => items.aggregate([{$match: {owner: missing}}]).toArray(),
                    () => items.bulkWrite([{deleteMany: {filter: {owner: missing}}}]),
                  ];
                  const codes = [];
                  for (const call of calls) codes.push((await caught(call)).code);
                  // A field that is set to undefined is left out.
                  await items.insertOne({_id: "c", left: missing});
                  return codes;
                };
                """)
            #expect(seen == .array(Array(repeating: 2, count: 8)), "\(seen)")
            #expect(try await fixture.items.find().count == 3)
            #expect(try await fixture.items.find(["n": 1]).isEmpty)
        }
    }

    @Test func `a result that is too large for a function fails its call only`() async throws {
        try await PoolFixture.with { fixture in
            let text = String(repeating: "x", count: 1 << 20)
            for number in 0..<45 as Range<Int32> {
                try await fixture.items.insertOne(["_id": .int32(number), "text": .string(text)])
            }
            let seen = try await fixture.run(
                """
                exports = async () => {
                  \(Self.catching)
                  let last = -1, count = 0;
                  const first = await caught(() => items.find({}).toArray());
                  for (;;) {
                    const part = await items.find({_id: {$gt: last}}).sort({_id: 1}).limit(10).toArray();
                    if (!part.length) break;
                    count += part.length;
                    last = part[part.length - 1]._id;
                  }
                  return [first.name, count, (await items.find({}).project({_id: 1}).toArray()).length];
                };
                """)
            #expect(seen == ["ResultTooLarge", 45, 45], "\(seen)")
        }
    }

    @Test func `options of a regular expression that JavaScript lacks are kept`() async throws {
        try await PoolFixture.with { fixture in
            let regex = Value.regex(RegularExpression("a b", options: "ix"))
            try await fixture.items.insertOne(["_id": "a", "regex": regex])
            let seen = try await fixture.run(
                """
                exports = async () => {
                  const items = context.services.get("mongodb-atlas").db("Test").collection("Item");
                  const { regex } = await items.findOne({_id: "a"});
                  await items.insertOne({_id: "b", regex});
                  return regex.flags;
                };
                """)
            #expect(seen == "i")
            #expect(try await fixture.items.findOne(["_id": "b"])?["regex"] == regex)
        }
    }

    @Test func `a write whose filter is undefined is refused, and changes nothing`() async throws {
        try await PoolFixture.with { fixture in
            try await fixture.items.insertMany([["_id": "a"], ["_id": "b"]])
            let seen = try await fixture.run(
                """
                exports = async () => {
                  \(Self.catching)
                  const codes = [];
                  for (const [method, ...rest] of [["deleteMany"], ["deleteOne"], ["updateMany", {$set: {n: 1}}],
                    ["replaceOne", {n: 1}], ["findOneAndDelete"]]) {
                    codes.push((await caught(() => items[method](undefined, ...rest))).code);
                  }
                  return codes;
                };
                """)
            #expect(seen == [9, 9, 9, 9, 9])
            #expect(try await fixture.items.countDocuments(["n": ["$exists": false]]) == 2)
        }
    }

    @Test func `a transaction that never began can't be committed`() async throws {
        try await PoolFixture.with { fixture in
            let seen = try await fixture.run(
                """
                exports = async () => {
                  \(Self.catching)
                  const session = context.services.get("mongodb-atlas").startSession();
                  return (await caught(() => session.commitTransaction())).code;
                };
                """)
            #expect(seen == 251)
        }
    }

    @Test func `unsupported options are refused by name, and so are misspelled ones`() async throws {
        try await PoolFixture.with { fixture in
            let seen = try await fixture.run(
                """
                exports = async () => {
                  \(Self.catching)
                  const code = async call => (await caught(call))?.code ?? 0;
                  return [
                    await code(() => items.insertOne({_id: 1}, {bypassDocumentValidation: true})),
                    await code(() => items.insertOne({_id: 1}, {bypassDocumentValidation: false})),
                    await code(() => items.updateOne({}, {$set: {n: 1}}, {bypassDocumentValidation: true})),
                    await code(() => items.aggregate([], {bypassDocumentValidation: true}).toArray()),
                    await code(() => items.find({}, {}, {returnKey: true}).toArray()),
                    await code(() => items.updateOne({}, {$set: {n: 1}}, {srot: {n: 1}})),
                    await code(() => items.updateMany({}, {$set: {n: 1}}, {sort: {n: 1}})),
                  ];
                };
                """)
            #expect(seen.arrayValue?.prefix(4) == [115, 0, 115, 115], "\(seen)")
            #expect(seen.arrayValue?.suffix(3) == [115, 40415, 40415], "\(seen)")
        }
    }

    @Test func `let and the sort of an update are supported, and a decimal keeps its bits`() async throws {
        try await PoolFixture.with { fixture in
            let odd = Decimal128(high: 0x7C00_0000_0000_0000, low: 0x12)
            try await fixture.items.insertMany([
                ["_id": 1, "n": 1, "d": .decimal128(odd)],
                ["_id": 2, "n": 2, "d": .decimal128(Decimal128("1.00") ?? .zero)],
            ])
            let seen = try await fixture.run(
                """
                exports = async () => {
                  const items = context.services.get("mongodb-atlas").db("Test").collection("Item");
                  await items.updateOne({}, {$set: {first: true}}, {sort: {n: -1}});
                  await items.updateOne({$expr: {$eq: ["$n", "$$one"]}}, [{$set: {met: "$$one"}}], {let: {one: 1}});
                  const all = await items.find({}).sort({_id: 1}).toArray();
                  await items.insertMany(all.map(d => ({...d, _id: d._id + 10})));
                  return [all.map(d => d.first ?? false), all.map(d => d.met ?? 0), all.map(d => d.d.toString())];
                };
                """)
            #expect(seen == [[false, true], [1, 0], ["NaN", "1.00"]], "\(seen)")
            let copy = try await fixture.items.findOne(["_id": 11])
            guard case .decimal128(let number)? = copy?["d"] else {
                Issue.record("no decimal: \(copy ?? [:])")
                return
            }
            #expect(number == odd)
        }
    }
}
