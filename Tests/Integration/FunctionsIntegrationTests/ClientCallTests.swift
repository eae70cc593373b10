import DocumentModel
import EventLoop
import FunctionProtocol
import Functions
import Testing

/// The calls that a client may make without a function.
struct ClientCallTests {
    /// Makes 10^20 documents.
    private static let endless: Document = {
        let range: Value = ["$set": ["x": ["$range": [0, 100_000]]]]
        let unwind: Value = ["$unwind": "$x"]
        return [
            "database": "Test", "collection": "Note",
            "pipeline": [
                ["$documents": [["n": 1]]], range, unwind, range, unwind, range, unwind, range, unwind, ["$count": "n"],
            ],
        ]
    }()

    @Test func `an endless pipeline is ended, and no loop waits for it`() async throws {
        try await RuledFixture.with { fixture in
            let loops = LoopGroup(1, name: "caller")
            let hasEnded = Locked(false)
            let failure = try await withThrowingTaskGroup(of: EffectFailure?.self) { group in
                group.addTask(executorPreference: loops.next().taskExecutor) {
                    defer { hasEnded.withLock { $0 = true } }
                    do {
                        _ = try await fixture.user("ann").performForClient(
                            try DocumentCall(action: "aggregate", arguments: Self.endless), on: fixture.store,
                            app: fixture.app.id, within: .seconds(2))
                        return nil
                    } catch {
                        return EffectFailure(error)
                    }
                }
                // The caller's loop takes turns while the pipeline runs.
                var turns = 0
                while !hasEnded.withLock({ $0 }) {
                    await loops.loops[0].flushed()
                    turns += 1
                }
                #expect(turns > 10)
                return try await group.next() ?? nil
            }
            #expect(failure?.code == 50)
            await loops.shutDown()
        }
    }

    @Test func `an answer that is too large is refused`() async throws {
        try await RuledFixture.with { fixture in
            let call = try DocumentCall(
                action: "aggregate",
                arguments: [
                    "database": "Test", "collection": "Note",
                    "pipeline": [
                        ["$documents": [["n": 1]]], ["$set": ["x": ["$range": [0, 900_000]]]], ["$unwind": "$x"],
                    ],
                ])
            do {
                _ = try await fixture.user("ann").performForClient(call, on: fixture.store, app: fixture.app.id)
                Issue.record("not refused")
            } catch {
                #expect(EffectFailure(error).code == 292, "\(error)")
            }
        }
    }

    @Test func `what a projection leaves out doesn't count towards the size of an answer`() async throws {
        try await RuledFixture.with { fixture in
            let text = String(repeating: "x", count: 1 << 20)
            for number in 0..<40 as Range<Int32> {
                try await fixture.collection("Note").insertOne([
                    "_id": .int32(number), "owner": "ann", "text": .string(text),
                ])
            }
            func find(_ more: Document) async throws -> Value {
                var arguments: Document = ["database": "Test", "collection": "Note", "filter": [:]]
                for field in more.fields { arguments[field.key] = field.value }
                return try await fixture.user("ann").performForClient(
                    try DocumentCall(action: "find", arguments: arguments), on: fixture.store, app: fixture.app.id)
            }
            #expect(try await find(["projection": ["_id": 1]]).arrayValue?.count == 40)
            await #expect(throws: EffectFailure.self) { try await find([:]) }
        }
    }
}
