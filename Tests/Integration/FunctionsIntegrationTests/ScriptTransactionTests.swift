import DocumentModel
import DocumentStore
import TestSupport
import Testing

@Suite struct ScriptTransactionTests {
    private static let begin = """
        const client = context.services.get("mongodb-atlas");
        const items = client.db("Test").collection("Item");
        const session = client.startSession();
        session.startTransaction();
        await items.insertOne({_id: "a"}, {session});
        await items.insertOne({_id: "b"}, {session});
        """

    @Test func `a transaction that a script commits is there as a whole`() async throws {
        try await PoolFixture.with { fixture in
            _ = try await fixture.run("exports = async () => { \(Self.begin) await session.commitTransaction(); };")
            #expect(try await fixture.items.countDocuments([:]) == 2)
        }
    }

    @Test func `a transaction whose error says so begins anew`() async throws {
        try await PoolFixture.with { fixture in
            let attempts = try await fixture.run(
                """
                exports = async () => {
                  const client = context.services.get("mongodb-atlas");
                  const items = client.db("Test").collection("Item");
                  let attempts = 0;
                  const session = client.startSession();
                  await session.withTransaction(async () => {
                    await items.insertOne({_id: "a"}, {session});
                    if (++attempts < 3) throw Object.assign(new Error("again"), {errorLabels: ["TransientTransactionError"]});
                  });
                  return attempts;
                };
                """)
            #expect(attempts == 3)
            #expect(try await fixture.items.countDocuments() == 1)
        }
    }

    @Test func `a transaction that a script aborts, or forgets, leaves nothing`() async throws {
        try await PoolFixture.with { fixture in
            _ = try await fixture.run("exports = async () => { \(Self.begin) await session.abortTransaction(); };")
            #expect(try await fixture.items.countDocuments([:]) == 0)
            _ = try await fixture.run("exports = async () => { \(Self.begin) };")
            #expect(try await fixture.items.countDocuments([:]) == 0)
        }
    }
}
