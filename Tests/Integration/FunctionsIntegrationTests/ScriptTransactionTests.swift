import DocumentModel
import DocumentStore
import FunctionProtocol
import Functions
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

    @Test func `a transaction that a script commits is applied as a whole`() async throws {
        try await PoolFixture.with { fixture in
            _ = try await fixture.run("exports = async () => { \(Self.begin) await session.commitTransaction(); };")
            #expect(try await fixture.items.countDocuments([:]) == 2)
        }
    }

    @Test func `a transaction whose error allows it is retried`() async throws {
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

    @Test func `a transaction that its body aborts is no error`() async throws {
        try await PoolFixture.with { fixture in
            let result = try await fixture.run(
                """
                exports = async () => {
                  const client = context.services.get("mongodb-atlas");
                  const items = client.db("Test").collection("Item");
                  const session = client.startSession();
                  return await session.withTransaction(async () => {
                    await items.insertOne({_id: "a"}, {session});
                    await session.abortTransaction();
                    return "aborted";
                  });
                };
                """)
            #expect(result == "aborted")
            #expect(try await fixture.items.countDocuments() == 0)
        }
    }

    /// Each locks a document that the other one needs.
    @Test func `two transactions that wait for each other are both applied`() async throws {
        try await PoolFixture.with { fixture in
            for id in ["a", "b"] { _ = try await fixture.items.insertOne(["_id": .string(id), "n": 0]) }
            func add(_ first: String, _ second: String) async throws {
                _ = try await fixture.run(
                    """
                    exports = async () => {
                      const client = context.services.get("mongodb-atlas");
                      const items = client.db("Test").collection("Item");
                      const session = client.startSession();
                      await session.withTransaction(async () => {
                        await items.updateOne({_id: "\(first)"}, {$inc: {n: 1}}, {session});
                        await new Promise(done => setTimeout(done, 100));
                        await items.updateOne({_id: "\(second)"}, {$inc: {n: 1}}, {session});
                      });
                    };
                    """)
            }
            for _ in 0..<4 {
                async let one: Void = add("a", "b")
                async let other: Void = add("b", "a")
                _ = try await (one, other)
            }
            #expect(try await fixture.items.find().map { $0["n"] } == [8, 8])
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

    private static let caught = """
        const code = async call => { try { await call(); return 0; } catch (e) { return e.code; } };
        const client = context.services.get("mongodb-atlas");
        const items = client.db("Test").collection("Item");
        await items.insertOne({_id: "there"});
        const session = client.startSession();
        session.startTransaction();
        """

    @Test func `after a failed operation all others fail at once`() async throws {
        try await PoolFixture.with { fixture in
            let codes = try await fixture.run(
                """
                exports = async () => {
                  \(Self.caught)
                  const inside = [
                    () => items.insertOne({_id: "a"}, {session}), () => items.insertOne({_id: "there"}, {session}),
                    () => items.insertOne({_id: "b"}, {session}), () => items.find({}, {}, {session}).toArray(),
                    () => items.updateOne({_id: "a"}, {$set: {n: 1}}, {session}),
                  ];
                  const codes = [];
                  for (const call of inside) codes.push(await code(call));
                  codes.push(await code(() => session.commitTransaction()));
                  await session.abortTransaction();
                  return codes;
                };
                """, limits: .init(wall: .seconds(30)))
            #expect(codes.arrayValue?.prefix(3) == [0, 11000, 251])
            #expect(codes.arrayValue?.suffix(2) == [251, 251])
            #expect(try await fixture.items.countDocuments() == 1)
        }
    }

    @Test func `operations that wait while another one fails end too`() async throws {
        try await PoolFixture.with { fixture in
            let codes = try await fixture.run(
                """
                exports = async () => {
                  \(Self.caught)
                  const codes = await Promise.all(["there", "a", "b", "c", "d", "e"].map(
                    _id => code(() => items.insertOne({_id}, {session}))));
                  codes.push(await code(() => items.insertOne({_id: "f"}, {session})));
                  return codes;
                };
                """, limits: .init(wall: .seconds(30)))
            #expect(codes == [11000, 251, 251, 251, 251, 251, 251])
            #expect(try await fixture.items.countDocuments() == 1)
        }
    }

    @Test func `a commit may be repeated, and nothing else`() async throws {
        try await PoolFixture.with { fixture in
            let codes = try await fixture.run(
                """
                exports = async () => {
                  \(Self.caught)
                  await items.insertOne({_id: "a"}, {session});
                  const codes = [
                    await code(() => session.commitTransaction()), await code(() => session.commitTransaction()),
                    ...await Promise.all([code(() => session.commitTransaction()), code(() => session.commitTransaction())]),
                  ];
                  session.startTransaction();
                  await session.abortTransaction();
                  codes.push(await code(() => session.commitTransaction()));
                  codes.push(await code(() => client.startSession().commitTransaction()));
                  return codes;
                };
                """)
            #expect(codes == [0, 0, 0, 0, 251, 251])
            #expect(try await fixture.items.countDocuments() == 2)
        }
    }

    @Test func `reads of a run with an open transaction don't wait for other runs`()
        async throws
    {
        try await PoolFixture.with(hosts: 4) { fixture in
            let source = """
                exports = async function () {
                    const service = context.services.get("mongodb-atlas"), items = service.db("Test").collection("Item");
                    const session = service.startSession();
                    session.startTransaction();
                    await items.insertOne({ _id: new BSON.ObjectId() }, { session });
                    const seen = await items.count({});
                    await session.commitTransaction();
                    await session.commitTransaction();
                    return (await items.count({})) > seen;
                };
                """
            // One at a time.
            let turns = DocumentTurns(connections: 1)
            try await withThrowingTaskGroup(of: Value.self) { group in
                for user in ["ann", "bob", "cid", "dan"] {
                    group.addTask { try await fixture.run(source, user: user, turns: turns) }
                }
                for try await result in group { #expect(result == true) }
            }
            // An abandoned transaction is ended, and releases its turn.
            let left = """
                exports = async () => {
                    const session = context.services.get("mongodb-atlas").startSession();
                    session.startTransaction();
                    return 1;
                };
                """
            for _ in 0..<3 { #expect(try await fixture.run(left, user: "ann", turns: turns).intValue == 1) }
        }
    }

    /// As when its worker stops in the middle of it. Nobody is told that the store failed, and a trigger's run isn't recorded as failed.
    @Test func `a cancelled call is no failure of the function`() async throws {
        try await PoolFixture.with { fixture in
            _ = try await fixture.items.insertOne(["_id": "a"])
            let effects = DocumentEffects(store: fixture.store, app: PoolFixture.app)
            let update = FunctionEffect(
                ordinal: 0, service: "mongodb-atlas", action: "updateOne",
                arguments: [
                    "database": "Test", "collection": "Item", "filter": ["_id": "a"], "update": ["$set": ["n": 2]],
                ],
                function: "f")
            let result = try await fixture.store.withTransaction(app: PoolFixture.app) { session in
                _ = try await session.collection("Item", database: "Test").updateOne(["_id": "a"], ["$set": ["n": 1]])
                let call = Task { await effects.perform(update) }
                try await eventually("it waits for the other's lock") {
                    try await !fixture.postgres.query(
                        """
                        select from pg_stat_activity
                        where datname = current_database() and wait_event_type = 'Lock'
                        """
                    ).isEmpty
                }
                call.cancel()
                return await call.value
            }
            guard case .failure(let failure) = result else {
                Issue.record("it was answered")
                return
            }
            #expect(failure.message == "the call was cancelled")
            let hasOutage = await effects.outage != nil
            #expect(hasOutage)
        }
    }
}
