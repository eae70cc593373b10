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

    @Test func `a script sees of an error what MongoDB's drivers tell`() async throws {
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

    @Test func `a write whose filter is undefined is refused, and meets nothing`() async throws {
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
}
