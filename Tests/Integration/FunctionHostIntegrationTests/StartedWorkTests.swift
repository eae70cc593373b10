import DocumentModel
import FunctionProtocol
import Testing

/// What a function starts and doesn't await.
struct StartedWorkTests {
    private static let users = "context.services.get('mongodb-atlas').db('D').collection('User')"

    @Test func `what a function started is finished before it is answered, with all that follows`() throws {
        let host = try TestHost([
            "chain": """
            exports = function () {
              const users = \(Self.users);
              users.insertOne({ _id: 1 }).then(() => users.insertOne({ _id: 2 })).then(() => users.insertOne({ _id: 3 }));
              setTimeout(() => users.insertOne({ _id: 4 }), 20);
              return "answer";
            }
            """,
            "bare": """
            exports = async function () { context.functions.execute("inner"); return 1 }
            """,
            "inner": "exports = async () => { await null; await \(Self.users).deleteOne({}); console.log('done') }",
        ])
        #expect(try host.call("chain").get().stringValue == "answer")
        #expect(host.effects.map(\.action) == ["insertOne", "insertOne", "insertOne", "insertOne"])
        #expect(try host.call("bare").get().intValue == 1)
        #expect(host.effects.last?.action == "deleteOne")
        #expect(host.effects.last?.function == "inner")
        #expect(host.logs == ["log: done"])
    }

    @Test func `a failed operation that isn't awaited is in the log, with its function and line`() throws {
        let host = try TestHost([
            "main": "exports = function () {\n  \(Self.users).insertOne({});\n  return 1\n}",
            "late": "exports = async () => {\n  (async () => { await null;\n  throw new TypeError('no') })() }",
            "timer": "exports = () => {\n  setTimeout(() => { throw new Error('late') }, 5) }",
            "handled": "exports = async () => { \(Self.users).insertOne({}).catch(() => {}) }",
            "thrown": "exports = async () => { await \(Self.users).insertOne({}) }",
            "text": "exports = () => {\n  (async () => { await null;\n  throw 'plain text' })() }",
        ])
        let refuse: (FunctionEffect) -> Result<Value, EffectFailure> = { _ in
            .failure(EffectFailure(name: "MongoDBError", message: "refused", code: 11000))
        }
        #expect(try host.call("main", answer: refuse).get().intValue == 1)
        _ = try host.call("late").get()
        _ = try host.call("timer").get()
        _ = try host.call("handled", answer: refuse).get()
        #expect(throws: FunctionFailure.self) { try host.call("thrown", answer: refuse).get() }
        _ = try host.call("text").get()
        #expect(
            host.logs == [
                "error: an operation that isn't awaited failed: MongoDBError: refused",
                "error: an operation that isn't awaited failed: TypeError: no",
                "error: a timer of the function failed: Error: late",
                "error: an operation that isn't awaited failed: plain text",
            ])
        #expect(host.lines.map(\.function) == ["main", "late", "timer", "text"])
        #expect(host.lines.map(\.line) == [2, 3, 2, 3])
    }

    @Test func `a timer that only limits a wait doesn't delay the answer`() throws {
        let host = try TestHost([
            "race": """
            exports = () => Promise.race([\(Self.users).findOne(), new Promise((_, no) => setTimeout(() => no(new Error("slow")), 60000))])
            """
        ])
        let start = ContinuousClock.now
        #expect(try host.call("race") { _ in .success(.int32(1)) }.get().intValue == 1)
        #expect(ContinuousClock.now - start < .seconds(5))
        #expect(host.logs == ["warn: timers that are due later than a second after the function's end don't run: 1"])
    }

    @Test func `timers that are left run after the answer, until the function's time limit`() throws {
        let host = try TestHost([
            "late": """
            exports = () => {
              setTimeout(async () => { await \(Self.users).insertOne({ _id: 1 }); setTimeout(() => console.log("last"), 50) }, 1200);
              return "answer";
            }
            """,
            "failing":
                "exports = () => {\n  setTimeout(() => { throw new Error('late') }, 1100);\n  throw new Error('own') }",
            "endless": "exports = () => { setInterval(() => {}, 20); setTimeout(() => {}, 60000) }",
            "busy": "exports = () => { setTimeout(() => { for (;;) {} }, 1100) }",
        ])
        let start = ContinuousClock.now
        #expect(try host.call("late", lingerLimit: 30).get().stringValue == "answer")
        #expect(ContinuousClock.now - start < .seconds(1))
        #expect(host.effects.isEmpty)
        #expect(try host.linger() == nil)
        #expect(host.effects.map(\.action) == ["insertOne"])
        #expect(host.logs == ["log: last"])

        let own = #expect(throws: FunctionFailure.self) { try host.call("failing", lingerLimit: 30).get() }
        #expect(own?.message == "own")
        #expect(try host.linger() == nil)
        #expect(host.logs.last == "error: a timer of the function failed: Error: late")
        #expect(host.lines.last?.line == 2)

        _ = try host.call("endless", lingerLimit: 1.5).get()
        #expect(try host.linger() == nil)
        #expect(host.logs.last == "warn: timers that are due after the function's time limit don't run: 2")

        _ = try host.call("busy", cpuLimit: 0.2, lingerLimit: 30).get()
        #expect(try host.linger()?.code == .executionTimeLimitExceeded)
    }

    @Test func `a host lets only so many calls go on, and a repeatable one not at all`() throws {
        let host = try TestHost(["leave": "exports = () => { setTimeout(() => {}, 5000) }"])
        for _ in 0..<32 { _ = try host.call("leave", lingerLimit: 60).get() }
        #expect(host.logs.isEmpty)
        _ = try host.call("leave", lingerLimit: 60).get()
        #expect(
            host.logs == [
                "warn: timers that are due later than a second after the function's end, while as many calls as may be still go on, don't run: 1"
            ])
        _ = try host.call("leave", seed: 1).get()
        #expect(host.logs.count == 2)
    }

    @Test func `what is left of a function counts against its CPU limit`() throws {
        let host = try TestHost([
            "main": "exports = () => { setTimeout(() => { for (;;) {} }, 1); return 1 }"
        ])
        let failure = #expect(throws: FunctionFailure.self) { try host.call("main", cpuLimit: 0.1).get() }
        #expect(failure?.code == .executionTimeLimitExceeded)
    }

    @Test func `intervals and immediates run`() throws {
        let host = try TestHost([
            "main": """
            exports = async () => {
              let ticks = 0;
              await new Promise(done => { const id = setInterval(() => { if (++ticks === 3) { clearInterval(id); done() } }, 1) });
              await new Promise(done => setImmediate(done));
              await new Promise(done => queueMicrotask(done));
              return ticks;
            }
            """
        ])
        #expect(try host.call("main").get().intValue == 3)
        #expect(host.logs.isEmpty)
    }

    @Test func `a timer begins its time again when it is refreshed, and a cleared one doesn't`() throws {
        let host = try TestHost([
            "main": """
            exports = async () => {
              const order = [];
              let ran;
              setTimeout(() => { order.push("first"); setTimeout(() => order.push("next"), 0); postponed.refresh(); }, 0);
              const postponed = setTimeout(() => { order.push("postponed"); ran(); }, 1);
              for (const end = Date.now() + 5; Date.now() < end;);  // both are due then
              await new Promise(done => { ran = done; });
              await new Promise(done => { ran = done; order.push(postponed.refresh() === postponed); });
              clearTimeout(postponed);
              const cleared = setTimeout(() => order.push("cleared"), 1);
              clearTimeout(cleared);
              order.push(postponed.refresh().hasRef(), cleared.refresh().hasRef());
              let ticks = 0;
              await new Promise(done => { const id = setInterval(() => { if (++ticks === 2) { clearInterval(+id); done(); } }, 1).refresh(); });
              return [...order, ticks];
            }
            """
        ])
        let result = try host.call("main").get()
        #expect(
            result == .array(["first", "next", "postponed", true, "postponed", false, false, .int32(2)]), "\(result)")
    }
}
