import EventLoop
import Glibc
import Lifecycle
import Logging
import TestSupport
import Testing

@Suite struct ServiceGroupTests {
    let journal = Journal()
    let log = InMemoryLogHandler()

    @Test func `services end one after the other in reverse order`() async throws {
        let group = group(["a", "b", "c"].map { Recorder(name: $0, journal: journal) })
        async let running: Void = group.run()
        try await journal.wait { $0.filter { $0.hasSuffix("started") }.count == 3 }
        group.triggerGracefulShutdown()
        try await running
        #expect(journal.entries.suffix(6) == ["c asked", "c ended", "b asked", "b ended", "a asked", "a ended"])
    }

    @Test func `a service that throws ends the group with its error`() async throws {
        let failing = Recorder(name: "b", journal: journal, failure: Failure())
        await #expect(throws: Failure.self) {
            try await group([Recorder(name: "a", journal: journal), failing]).run()
        }
        #expect(journal.entries.contains("a ended"))
        #expect(log.messages.contains("service failed"))
    }

    @Test func `a service that returns early ends the group with an error that names it`() async throws {
        let returning = Recorder(name: "early", journal: journal, returnsEarly: true)
        let error = await #expect(throws: ServiceGroupError.self) {
            try await group([Recorder(name: "a", journal: journal), returning]).run()
        }
        #expect(error?.code == .serviceFinishedUnexpectedly)
        #expect(error?.message.contains("early") == true)
        #expect(journal.entries.contains("a ended"))
    }

    @Test func `what still runs after the deadline is cancelled and named`() async throws {
        let group = ServiceGroup(
            services: [Recorder(name: "a", journal: journal), Stubborn()],
            maximumGracefulShutdownDuration: .milliseconds(20), logger: logger)
        group.triggerGracefulShutdown()
        let error = await #expect(throws: ServiceGroupError.self) { try await group.run() }
        #expect(error?.code == .deadlineExceeded)
        #expect(error?.message.contains("Stubborn") == true)
    }

    @Test func `a signal begins the shutdown and a second one cancels`() async throws {
        let group = ServiceGroup(
            services: [Recorder(name: "a", journal: journal), Stubborn()], gracefulShutdownSignals: [.sigusr2],
            logger: logger)
        async let running: Void = group.run()
        try await journal.wait { $0.contains("a started") }
        // The group begins to watch for the signal shortly before or after it starts its services.
        try await eventually("it watches") { log.messages.contains("watching for signals") }
        kill(getpid(), SIGUSR2)
        try await eventually("it shuts down") { log.messages.contains("shutting down after a signal") }
        kill(getpid(), SIGUSR2)
        try await running
        #expect(log.messages.contains("cancelling after another signal"))
    }

    @Test func `cancelling the task around the group ends it with CancellationError`() async throws {
        let group = group([Recorder(name: "a", journal: journal), Stubborn()])
        let task = Task { try await group.run() }
        try await journal.wait { $0.contains("a started") }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func `a group within a group shuts down with it`() async throws {
        let inner = group([Recorder(name: "x", journal: journal), Recorder(name: "y", journal: journal)])
        let outer = group([Recorder(name: "a", journal: journal), inner])
        async let running: Void = outer.run()
        try await journal.wait { $0.filter { $0.hasSuffix("started") }.count == 3 }
        outer.triggerGracefulShutdown()
        try await running
        #expect(journal.entries.suffix(6) == ["y asked", "y ended", "x asked", "x ended", "a asked", "a ended"])
    }

    @Test func `services that end together are all asked at once`() async throws {
        let together = ServiceGroup(
            services: ["x", "y"].map { Paired(name: $0, journal: journal) }, ending: .together, logger: logger)
        let outer = group([Recorder(name: "a", journal: journal), together])
        async let running: Void = outer.run()
        try await journal.wait { $0.filter { $0.hasSuffix("started") }.count == 3 }
        outer.triggerGracefulShutdown()
        try await running
        #expect(Set(journal.entries.suffix(4).prefix(2)) == ["x ended", "y ended"])
        #expect(journal.entries.suffix(2) == ["a asked", "a ended"])
    }

    @Test func `a group runs only once`() async throws {
        let group = group([])
        try await group.run()
        let error = await #expect(throws: ServiceGroupError.self) { try await group.run() }
        #expect(error?.code == .alreadyFinished)
    }

    private var logger: Logger { Logger(label: "test", handler: log, logLevel: .trace) }

    private func group(_ services: [any Service]) -> ServiceGroup { ServiceGroup(services: services, logger: logger) }
}

struct Failure: Error {}

/// Records what happens to it.
struct Recorder: Service, CustomStringConvertible {
    let name: String
    let journal: Journal
    var failure: Failure?
    var returnsEarly = false

    var description: String { name }

    func run() async throws {
        journal.add("\(name) started")
        if let failure { throw failure }
        if returnsEarly { return }
        try await gracefulShutdown()
        journal.add("\(name) asked")
        await Task.yield()
        journal.add("\(name) ended")
    }
}

/// Ends only when its counterpart has been asked to end as well.
struct Paired: Service {
    let name: String
    let journal: Journal

    func run() async throws {
        journal.add("\(name) started")
        try await gracefulShutdown()
        journal.add("\(name) asked")
        try await journal.wait { $0.filter { ["x asked", "y asked"].contains($0) }.count == 2 }
        journal.add("\(name) ended")
    }
}

/// Ends only when it is cancelled.
struct Stubborn: Service {
    func run() async throws { try await Task.sleep(for: .seconds(60)) }
}

final class Journal: Sendable {
    private let lines = Locked<[String]>([])

    var entries: [String] { lines.withLock { $0 } }

    func add(_ line: String) { lines.withLock { $0.append(line) } }

    func wait(_ condition: ([String]) -> Bool) async throws {
        try await eventually("the journal is as expected") { condition(entries) }
    }
}
