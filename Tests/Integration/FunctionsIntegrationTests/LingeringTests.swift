import DocumentModel
import EventLoop
import FunctionProtocol
import Functions
import TestSupport
import Testing

/// Calls that go on after their answers, until the timers that they have left behind have run.
@Suite struct LingeringTests {
    private static let late = """
        exports = () => {
          const items = context.services.get("mongodb-atlas").db("Test").collection("Item");
          setTimeout(() => items.insertOne({ _id: "late" }), 5000);
          return 1;
        };
        """

    @Test func `what is left behind is done after the answer, and then the call is finished`() async throws {
        try await PoolFixture.with { fixture in
            let finished = Locked(0)
            let finish: @Sendable () async -> Void = { finished.withLock { $0 += 1 } }
            #expect(try await fixture.run(Self.late, finish: finish).intValue == 1)
            #expect(try await fixture.items.countDocuments() == 0)
            #expect(finished.withLock { $0 } == 0)
            try await eventually("the timer has run", within: patience) {
                try await fixture.items.countDocuments() == 1
            }
            try await eventually("the call is finished") { finished.withLock { $0 } == 1 }
            // One that leaves nothing behind is finished with its answer.
            _ = try await fixture.run("exports = () => 2", finish: finish)
            #expect(finished.withLock { $0 } == 2)
            // The caller of one without `finish` knows its end by its answer.
            let lines = Locked<[String]>([])
            _ = try await fixture.run(Self.late, log: { line in lines.withLock { $0.append(line.message) } })
            #expect(
                lines.withLock { $0 }
                    == ["timers that are due later than a second after the function's end don't run: 1"])
        }
    }

    @Test func `a call that goes on keeps no process from others`() async throws {
        try await PoolFixture.with(hosts: 1) { fixture in
            let lines = Locked<[ConsoleLine]>([])
            let finished = Locked(false)
            let source = "exports = () => { setTimeout(() => {}, 60000); return 1 }"
            let first = try await fixture.run(
                source, finish: { finished.withLock { $0 = true } }, log: { line in lines.withLock { $0.append(line) } }
            )
            #expect(first.intValue == 1)
            let start = ContinuousClock.now
            #expect(try await fixture.run("exports = () => 2", app: "other").intValue == 2)
            #expect(ContinuousClock.now - start < .seconds(30))
            try await eventually("the call is finished") { finished.withLock { $0 } }
            let line = try #require(lines.withLock { $0 }.first)
            #expect(line.level == "error")
            #expect(line.message.hasPrefix("what the function had left behind was ended: FunctionHostLost"))
        }
    }

    @Test func `a call goes on no longer than its time limit`() async throws {
        try await PoolFixture.with { fixture in
            let finished = Locked(false)
            let start = ContinuousClock.now
            _ = try await fixture.run(
                "exports = () => { setInterval(() => {}, 10); return 1 }", limits: .init(cpu: 10, wall: .seconds(6)),
                finish: { finished.withLock { $0 = true } })
            try await eventually("the call is finished", within: patience) { finished.withLock { $0 } }
            #expect(ContinuousClock.now - start >= .seconds(5))
            #expect(try await fixture.run("exports = () => 2").intValue == 2)
        }
    }
}
