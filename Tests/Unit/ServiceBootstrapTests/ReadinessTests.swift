import EventLoop
import Lifecycle
import Logging
import ServiceBootstrap
import Testing

@Suite struct ReadinessTests {
    struct Unreachable: Error, CustomStringConvertible { let description: String }

    @Test func `a process is ready when all of its components are`() async throws {
        let readiness = Readiness()
        #expect(await readiness.report().isReady)
        readiness.add("postgres") {}
        #expect(await readiness.report().isReady)
        readiness.set("kafka", .notReady("no \"broker\""))
        let report = await readiness.report()
        #expect(!report.isReady)
        #expect(
            String(decoding: try report.json(), as: UTF8.self)
                == #"{"components":{"kafka":{"reason":"no \"broker\"","status":"notReady"},"postgres":{"status":"ready"}},"status":"notReady"}"#
        )
        readiness.set("kafka", .ready)
        #expect(await readiness.report().isReady)
    }

    @Test func `a check that throws or takes too long fails, and only that one`() async {
        let readiness = Readiness(limit: .milliseconds(10))
        readiness.add("a") { throw Unreachable(description: "refused") }
        readiness.add("b") { try await Task.sleep(for: .seconds(60)) }
        readiness.add("c") {}
        let report = await readiness.report()
        #expect(report.components.map(\.name) == ["a", "b", "c"])
        #expect(report.components[0].status == .notReady("refused"))
        #expect(report.components[1].status != .ready)
        #expect(report.components[2].status == .ready)
    }

    @Test func `a check that hangs isn't started twice, and its answer counts when it comes`() async throws {
        let (release, releasing) = AsyncStream<Void>.makeStream()
        let questions = Locked(0)
        let readiness = Readiness(age: .zero, limit: .milliseconds(10))
        readiness.add("postgres") {
            questions.withLock { $0 += 1 }
            // As a client whose connection is stuck: it doesn't react to cancellation.
            await Task { for await _ in release {} }.value
        }
        for _ in 0..<3 { #expect(await !readiness.report().isReady) }
        #expect(questions.withLock { $0 } == 1)
        releasing.finish()
        let end = ContinuousClock.now + .seconds(10)
        while await !readiness.report().isReady, .now < end { await Task.yield() }
        #expect(await readiness.report().isReady)
    }

    @Test func `an optional component doesn't make a process unready`() async throws {
        let readiness = Readiness(age: .zero)
        readiness.add("postgres") {}
        readiness.add("redis", isRequired: false) { throw Unreachable(description: "refused") }
        let report = await readiness.report()
        #expect(report.isReady && report.isDegraded)
        #expect(
            String(decoding: try report.json(), as: UTF8.self)
                == #"{"components":{"postgres":{"status":"ready"},"redis":{"reason":"refused","status":"notReady"}},"status":"degraded"}"#
        )
    }

    @Test func `many concurrent requests share one check`() async {
        let questions = Locked(0)
        let readiness = Readiness(age: .seconds(60))
        readiness.add("a") { questions.withLock { $0 += 1 } }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<50 { group.addTask { _ = await readiness.report() } }
        }
        #expect(questions.withLock { $0 } == 1)
    }

    @Test func `waiting retries until it succeeds, and reports what is missing`() async throws {
        let readiness = Readiness(age: .zero)
        let log = InMemoryLogHandler()
        let attempts = Locked(0)
        let value = try await readiness.waitUntilReady(
            "kafka", retries: RetrySchedule(first: .milliseconds(1), limit: .milliseconds(2)),
            logger: Logger(label: "test", handler: log, logLevel: .info)
        ) {
            let attempt = attempts.withLock { attempts in
                attempts += 1
                return attempts
            }
            if attempt > 1 {
                #expect(await readiness.report().components.map(\.status) == [.notReady("no broker")])
            }
            if attempt < 4 { throw Unreachable(description: "no broker") }
            return attempt
        }
        #expect(value == 4)
        #expect(await readiness.report().isReady)
        #expect(log.messages == ["component isn't reachable, trying again", "component is reachable"])
    }

    @Test func `the log says once when readiness is lost, and when it is back`() async throws {
        let readiness = Readiness(age: .zero)
        let isAway = Locked(true)
        let looks = Locked(0)
        readiness.add("postgres") {
            defer { looks.withLock { $0 += 1 } }
            if isAway.withLock({ $0 }) { throw Unreachable(description: "it hangs") }
        }
        readiness.add("redis") {}
        let log = InMemoryLogHandler()
        let watch = ReadinessLog(
            readiness, interval: .milliseconds(1), logger: Logger(label: "test", handler: log, logLevel: .info))
        let running = Task { try await watch.run() }
        func turns(_ away: Bool, _ count: Int) async throws {
            isAway.withLock { $0 = away }
            let before = looks.withLock { $0 }
            // The first check may have begun earlier, and the last one's result may not be written yet.
            let deadline = ContinuousClock.now + .seconds(20)
            while looks.withLock({ $0 }) < before + 3 || log.messages.count < count, ContinuousClock.now < deadline {
                try await Task.sleep(for: .milliseconds(1))
            }
        }
        // Not ready yet, which the waiting side reports.
        try await turns(true, 0)
        #expect(log.messages.isEmpty)
        try await turns(false, 0)
        #expect(log.messages.isEmpty)
        try await turns(true, 1)
        try await turns(false, 2)
        #expect(log.messages == ["component isn't ready any more", "component is ready again"])
        running.cancel()
        try await running.value
    }

    @Test func `waiting ends with the graceful shutdown`() async {
        let readiness = Readiness()
        await testGracefulShutdown { trigger in
            await #expect(throws: CancellationError.self) {
                try await readiness.waitUntilReady(
                    "kafka", logger: Logger(label: "test", handler: InMemoryLogHandler())
                ) {
                    trigger.triggerGracefulShutdown()
                    throw Unreachable(description: "no broker")
                }
            }
        }
    }
}
