import ChildProcesses
import DocumentModel
import EventLoop
import Foundation
import FunctionProtocol
import Functions
import TestSupport
import Testing

@Suite struct PoolTests {
    private func code(_ body: () async throws -> Value) async -> FunctionFailure.Code? {
        do {
            _ = try await body()
            return nil
        } catch {
            return (error as? FunctionFailure)?.code
        }
    }

    /// Runs a pool whose processes have a name of their own, by which they are found.
    private static func withNamedProcesses(
        hosts: Int = 1, _ body: @Sendable (PoolFixture, String) async throws -> Void
    ) async throws {
        let place = FileManager.default.temporaryDirectory.appendingPathComponent("host-\(ObjectId().hexString)").path
        try FileManager.default.createSymbolicLink(
            atPath: place, withDestinationPath: CurrentEnvironment.sibling("function-host"))
        defer { try? FileManager.default.removeItem(atPath: place) }  // a temporary file
        try await PoolFixture.with(hosts: hosts, executable: place) { try await body($0, place) }
    }

    /// The processes that were started by this name.
    private static func processes(of program: String) throws -> [pid_t] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { pid_t($0) }.filter { process in
            // Other processes start and end in between.
            let words = FileManager.default.contents(atPath: "/proc/\(process)/cmdline") ?? Data()
            return String(decoding: words, as: UTF8.self).hasPrefix(program + "\0")
        }
    }

    @Test func `a host that was ended is replaced before the next call`() async throws {
        try await Self.withNamedProcesses { fixture, place in
            let source = "exports = () => 1;"
            #expect(try await fixture.run(source).intValue == 1)
            let found = try Self.processes(of: place).first
            let process = try #require(found)
            #expect(kill(process, SIGKILL) == 0)
            try await eventually("the process has ended") {
                // Gone with the process, once its parent has seen it.
                let status = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
                return status?.contains(") Z ") ?? true
            }
            #expect(try await fixture.run(source).intValue == 1)
        }
    }

    @Test func `a call beyond its wall time is ended, and the next one works`() async throws {
        try await PoolFixture.with { fixture in
            let limits = FunctionInvocation.Limits(cpu: 10, wall: .milliseconds(500))
            let waiting = "exports = () => new Promise(() => {});"
            let never = """
                exports = () => context.services.get("mongodb-atlas").db("Test").collection("Item").findOne({});
                """
            let stuck: @Sendable (FunctionEffect) async -> Result<Value, EffectFailure> = { _ in
                try? await Task.sleep(for: .seconds(60))  // cancelled with its call
                return .success(.null)
            }
            let ended = await code { try await fixture.run(never, limits: limits, effect: stuck) }
            #expect(ended == .executionTimeLimitExceeded)
            _ = await code { try await fixture.run(waiting, limits: limits) }
            let next = try await fixture.run("exports = () => 2;")
            #expect(next.intValue == 2)
        }
    }

    @Test func `an app with many calls doesn't block another one`() async throws {
        try await PoolFixture.with { fixture in
            let count = Locked(0), isOver = Locked(false)
            let source = "exports = () => { const end = Date.now() + 5; while (Date.now() < end) {} return 1; };"
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<60 {
                    group.addTask {
                        while !isOver.withLock({ $0 }) {
                            _ = try await fixture.run(source, app: "busy")
                            count.withLock { $0 += 1 }
                        }
                    }
                }
                try await eventually("the busy app is at work") { count.withLock { $0 } > 0 }
                let start = ContinuousClock.now
                _ = try await fixture.run(source, app: "other")
                #expect(ContinuousClock.now - start < .seconds(10))
                isOver.withLock { $0 = true }
                try await group.waitForAll()
            }
        }
    }

    @Test func `functions that compute for long leave the processor to others`() async throws {
        try await Self.withNamedProcesses(hosts: 4) { fixture, place in
            let source = """
                exports = seconds => {
                    const end = Date.now() + 1000 * seconds;
                    while (Date.now() < end) {}
                    return 7;
                };
                """
            func priorities() throws -> [Int32] {
                try Self.processes(of: place).map { getpriority(__priority_which_t(PRIO_PROCESS.rawValue), UInt32($0)) }
            }
            // How much of the processor it gets in this time depends on what else runs.
            for _ in 0..<20 where try !priorities().contains(10) {
                #expect(try await fixture.run(source, [.double(1.5)]).intValue == 7)
            }
            // Others have processes with the usual priority, also when one with a low one is idle.
            #expect(try await fixture.run(source, [0], function: "g").intValue == 7)
            let present = try priorities()
            #expect(present.contains(0) && present.contains(10), "\(present)")
            #expect(try await fixture.run(source, [0]).intValue == 7)
        }
    }

    @Test func `a call in a process that takes no more calls can wait for another call of its app`() async throws {
        try await PoolFixture.with(hosts: 2) { fixture in
            let source = """
                exports = async what => {
                  if (what === "ask") {
                    return context.services.get("mongodb-atlas").db("Test").collection("Item").findOne({});
                  }
                  if (what === "sleep") await new Promise(done => setTimeout(done, 200));
                  return 1;
                };
                """
            let asks = Locked(false), isOver = Locked(false)
            let (permission, mayAsk) = AsyncStream.makeStream(of: Void.self)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    let answer = try await fixture.run(source, ["ask"], app: "outer") { _ in
                        asks.withLock { $0 = true }
                        for await _ in permission {}
                        return .success((try? await fixture.run(source, ["answer"], app: "outer")) ?? .null)
                    }
                    #expect(answer.intValue == 1)
                }
                try await eventually("the outer call runs") { asks.withLock { $0 } }
                // This app always has calls in the other process.
                for _ in 0..<4 {
                    group.addTask {
                        while !isOver.withLock({ $0 }) { _ = try await fixture.run(source, ["sleep"], app: "busy") }
                    }
                    try await Task.sleep(for: .milliseconds(50))
                }
                // The outer call's process takes no more calls, for the sake of a third app, whose caller leaves.
                let third = Task { try await fixture.run(source, [], app: "third") }
                // Nothing outside of the pool tells when a process takes no more calls.
                try await Task.sleep(for: .milliseconds(500))
                third.cancel()
                await #expect(throws: CancellationError.self) { try await third.value }
                let start = ContinuousClock.now
                mayAsk.finish()
                try await group.next()  // the outer call
                #expect(ContinuousClock.now - start < .seconds(10))
                isOver.withLock { $0 = true }
                try await group.waitForAll()
            }
        }
    }

    @Test func `calls that have processes for themselves can wait for other calls of their app`() async throws {
        try await PoolFixture.with(hosts: 4) { fixture in
            let source = """
                exports = async what => {
                  while (what === "compute") {}
                  if (what === "answer") return 7;
                  return context.services.get("mongodb-atlas").db("Test").collection("Item").findOne({});
                };
                """
            // From now on its calls have processes for themselves, as many as the app may have.
            let ended = await code { try await fixture.run(source, ["compute"], limits: .init(cpu: 1.5)) }
            #expect(ended == .executionTimeLimitExceeded)
            let start = ContinuousClock.now
            try await withThrowingTaskGroup(of: Value.self) { group in
                for _ in 0..<6 {
                    group.addTask {
                        try await fixture.run(source, ["ask"]) { _ in
                            .success((try? await fixture.run(source, ["answer"], function: "g")) ?? .null)
                        }
                    }
                }
                for try await answer in group { #expect(answer.intValue == 7) }
            }
            #expect(ContinuousClock.now - start < .seconds(20))
        }
    }

    /// Waits for something that never happens.
    private static let hanging = """
        exports = () => context.services.get("mongodb-atlas").db("Test").collection("Item").findOne({});
        """

    @Test func `functions that hang leave places to other apps and to triggers`() async throws {
        try await PoolFixture.with(hosts: 4, calls: 4) { fixture in
            let hanging = Locked(0), ended = Locked(0)
            let calls = Task {
                await withTaskGroup(of: Void.self) { group in
                    for _ in 0..<20 {
                        group.addTask {
                            _ = try? await fixture.run(Self.hanging) { _ in
                                hanging.withLock { $0 += 1 }
                                await untilCancelled()
                                return .success(.null)
                            }
                            ended.withLock { $0 += 1 }
                        }
                    }
                }
            }
            try await eventually("the app has its share") { hanging.withLock { $0 } == 2 }
            #expect(try await fixture.run("exports = () => 1;", app: "other").intValue == 1)
            #expect(try await fixture.run("exports = () => 2;", share: "triggers").intValue == 2)
            #expect(hanging.withLock { $0 } == 2)
            #expect(ended.withLock { $0 } == 0)
            // Those that run and those that wait.
            calls.cancel()
            await calls.value
            #expect(hanging.withLock { $0 } == 2)
            #expect(try await fixture.run("exports = () => 3;").intValue == 3)
        }
    }

    @Test func `one user's functions that hang leave places to the app's other users`() async throws {
        try await PoolFixture.with(hosts: 8, calls: 8) { fixture in
            let hanging = Locked(0)
            let calls = Task {
                await withTaskGroup(of: Void.self) { group in
                    for _ in 0..<20 {
                        group.addTask {
                            _ = try? await fixture.run(Self.hanging, user: "mallory") { _ in
                                hanging.withLock { $0 += 1 }
                                await untilCancelled()
                                return .success(.null)
                            }
                        }
                    }
                }
            }
            try await eventually("the user has a share") { hanging.withLock { $0 } == 3 }
            for user in ["ann", "bob"] {
                #expect(try await fixture.run("exports = () => 1;", user: user).intValue == 1)
            }
            #expect(hanging.withLock { $0 } == 3)
            calls.cancel()
            await calls.value
        }
    }

    @Test func `a cancelled call is ended, and what it had begun is not written`() async throws {
        try await PoolFixture.with { fixture in
            let source = """
                exports = async function () {
                    const service = context.services.get("mongodb-atlas"), items = service.db("Test").collection("Item");
                    await items.insertOne({ _id: "before" });
                    const session = service.startSession();
                    session.startTransaction();
                    await items.insertOne({ _id: "within" }, { session });
                    await service.db("Test").collection("Hanging").findOne({});
                    await session.commitTransaction();
                };
                """
            let effects = DocumentEffects(store: fixture.store, app: PoolFixture.app)
            let isHanging = Locked(false)
            let call = Task {
                let result: Result<Value, any Error>
                do {
                    result = .success(
                        try await fixture.run(source) { effect in
                            guard effect.arguments["collection"]?.stringValue == "Hanging" else {
                                return await effects.perform(effect)
                            }
                            isHanging.withLock { $0 = true }
                            await untilCancelled()
                            return .success(.null)
                        })
                } catch { result = .failure(error) }
                await effects.finish()
                return try result.get()
            }
            try await eventually("the function hangs") { isHanging.withLock { $0 } }
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
            #expect(try await fixture.items.find([:]).map { $0["_id"]?.stringValue } == ["before"])
            #expect(try await fixture.run("exports = () => 4;").intValue == 4)
        }
    }

    @Test func `calls beyond their CPU time all say so, however many there are`() async throws {
        try await PoolFixture.with(hosts: 4) { fixture in
            let codes = await withTaskGroup(of: FunctionFailure.Code?.self) { group in
                for _ in 0..<12 {
                    group.addTask {
                        await code {
                            try await fixture.run("exports = () => { for (;;) {} };", limits: .init(cpu: 0.02))
                        }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(codes.allSatisfy { $0 == .executionTimeLimitExceeded }, "\(codes)")
        }
    }

    @Test func `an answer that comes after its call's end reaches no later call`() async throws {
        try await PoolFixture.with { fixture in
            let source = """
                exports = async function () {
                    const items = context.services.get("mongodb-atlas").db("Test").collection("Item");
                    const answer = items.findOne({});
                    return (await Promise.race([answer, Promise.resolve("left")]));
                };
                """
            let late = Locked<Int>(0)
            for _ in 0..<20 {
                let value = try await fixture.run(source) { _ in
                    let number = late.withLock {
                        $0 += 1; return $0
                    }
                    await Task.yield()
                    return .success(.string("answer \(number)"))
                }
                #expect(value.stringValue == "left")
            }
            let awaited = """
                exports = () => context.services.get("mongodb-atlas").db("Test").collection("Item").findOne({});
                """
            #expect(try await fixture.run(awaited) { _ in .success("mine") }.stringValue == "mine")
        }
    }

    @Test func `memory that one step of a script takes is limited as well`() async throws {
        try await PoolFixture.with(memoryLimit: 150 << 20) { fixture in
            // The engine's watchdog runs between the steps of a script. This is one step, and takes 2 GB.
            let ended = await code { try await fixture.run("exports = () => new Uint8Array(2e9).fill(1).length") }
            #expect(ended == .memoryLimitExceeded)
            let next = try await fixture.run("exports = () => 1")
            #expect(next.intValue == 1)
        }
    }

    @Test func `functions don't run as root or as an account that isn't there`() throws {
        guard geteuid() == 0 else { return }  // elsewhere the account changes nothing
        for name in ["root", "no-such-account"] {
            let failure = #expect(throws: HostConfinementError.self) {
                _ = try HostConfinement(accountName: name, filtersCalls: true)
            }
            #expect(failure?.description.contains(name) == true)
        }
    }
}

/// Returns when the task is cancelled.
func untilCancelled() async {
    let (never, continuation) = AsyncStream.makeStream(of: Never.self)
    for await _ in never {}
    continuation.finish()
}
