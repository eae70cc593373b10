import DocumentModel
import EventLoop
import EventStream
import EventTopics
import Kafka
import Lifecycle
import Logging
import TestSupport
import Testing

/// Records what it gets; fails as configured.
final class NotingHandler: EventHandler {
    struct Refused: Error {}

    struct Notes: Sendable {
        var events: [ReceivedEvent<AuthEvent>] = []
        var letters: [DeadLetter<AuthEvent>] = []
        var running = 0
        var mostRunning = 0
        var attempts: [String: Int] = [:]
    }

    let notes = Locked(Notes())
    /// How often handling this event fails; negative: always.
    let failures: [String: Int]
    let gate: Gate?

    init(failures: [String: Int] = [:], gate: Gate? = nil) {
        self.failures = failures
        self.gate = gate
    }

    func handle(_ events: [ReceivedEvent<AuthEvent>]) async throws {
        notes.withLock {
            $0.running += 1
            $0.mostRunning = max($0.mostRunning, $0.running)
        }
        defer { notes.withLock { $0.running -= 1 } }
        await gate?.pass()
        for event in events {
            let attempt = notes.withLock { notes in
                notes.attempts[event.payload.id, default: 0] += 1
                return notes.attempts[event.payload.id, default: 0]
            }
            if let fails = failures[event.payload.id], fails < 0 || attempt <= fails { throw Refused() }
        }
        notes.withLock { $0.events += events }
    }

    func decide(_ error: any Error, on event: ReceivedEvent<AuthEvent>, attempts: Int) async -> FailureDecision {
        attempts < 3 ? .retry : .deadLetter
    }

    func deadLetter(_ letter: DeadLetter<AuthEvent>) async throws { notes.withLock { $0.letters.append(letter) } }

    var ids: [String] { notes.withLock { $0.events.map(\.payload.id) } }
}

/// Takes longer than any shutdown, and ends when it is cancelled.
final class SleepingHandler: EventHandler {
    enum State { case waiting, running, cancelled }
    let state = Locked(State.waiting)

    func handle(_ events: [ReceivedEvent<AuthEvent>]) async throws {
        state.withLock { $0 = .running }
        do {
            try await Task.sleep(for: .seconds(60))
        } catch {
            state.withLock { $0 = .cancelled }
            throw error
        }
    }

    func deadLetter(_ letter: DeadLetter<AuthEvent>) async throws {}
}

/// Blocks handlers until it is opened.
final class Gate: Sendable {
    private let state = Locked<(isOpen: Bool, waiters: [CheckedContinuation<Void, Never>])>((false, []))

    func pass() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiters.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }

    func open() {
        let waiters = state.withLock { state in
            state.isOpen = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }
}

func event(_ id: String, user: String) -> AuthEvent {
    AuthEvent(id: id, app: "a", kind: .signedIn, userID: user, user: ["id": .string(user)], time: 1_700_000_000_000)
}

@Suite struct EventConsumerTests {
    private static let options = EventConsumerOptions(
        concurrency: 4, retries: RetrySchedule(first: .milliseconds(10), limit: .milliseconds(50)),
        drainTimeout: .seconds(5))

    /// Runs a consumer beside `body`, and shuts it down in order.
    private func withConsumer(
        _ kafka: KafkaFixture, pool: String, _ handler: NotingHandler, options: EventConsumerOptions = options,
        _ body: () async throws -> Void
    ) async throws {
        var options = options
        options.sessionTimeout = kafka.sessionTimeout
        let group = ServiceGroup(
            services: [
                EventConsumer(
                    pool: pool, group: "g", kafka: kafka.configuration, options: options, handler: handler)
            ], logger: Logger(label: "test"))
        async let running: Void = group.run()
        let result: Result<Void, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        group.triggerGracefulShutdown()
        try await running
        try result.get()
    }

    @Test func `events of a key are handled in order, keys concurrently, and a restart continues`()
        async throws
    {
        try await KafkaFixture.with { kafka in
            let pool = try await kafka.pool(AuthEvent.topic.contract)
            let producer = EventProducer(kafka.producer, pool: pool)
            let handler = NotingHandler()
            try await withConsumer(kafka, pool: pool, handler) {
                try await producer.send((0..<500).map { event("\($0)", user: "u\($0 % 20)") }).requireAll()
                try await eventually("all are handled") { handler.ids.count == 500 }
            }
            var last: [String: Int] = [:]
            for event in handler.notes.withLock({ $0.events }) {
                let number = try #require(Int(event.payload.id))
                #expect(number > last[event.payload.userID, default: -1])
                last[event.payload.userID] = number
                #expect(event.key == "a/\(event.payload.userID)")
                #expect(event.attributes.source == "/partita/a/auth-events")
            }
            let second = NotingHandler()
            try await withConsumer(kafka, pool: pool, second) {
                try await producer.send(event("new", user: "u1"))
                try await eventually("the new one is handled") { second.ids.contains("new") }
            }
            #expect(second.ids == ["new"])
        }
    }

    @Test func `a failing event is retried and becomes a dead letter while others go on`() async throws {
        try await KafkaFixture.with { kafka in
            let pool = try await kafka.pool(AuthEvent.topic.contract)
            let producer = EventProducer(kafka.producer, pool: pool)
            let handler = NotingHandler(failures: ["3": 2, "poison": -1])
            try await withConsumer(kafka, pool: pool, handler) {
                try await producer.send(
                    (0..<6).map { event("\($0)", user: "u") } + [event("poison", user: "p"), event("after", user: "p")]
                ).requireAll()
                // Not an event at all.
                try await kafka.producer.send(
                    KafkaRecord(
                        topic: AuthEvent.topic.fullName(pool: pool), key: Array("a/u".utf8), value: Array("{".utf8)))
                try await eventually("all are handled or put aside") {
                    handler.notes.withLock { $0.events.count + $0.letters.count } == 9
                }
            }
            #expect(handler.ids.filter { $0 != "after" } == (0..<6).map { "\($0)" })
            #expect(handler.ids.contains("after"))
            let letters = handler.notes.withLock { $0.letters }
            let poison = try #require(letters.first { $0.event?.payload.id == "poison" })
            #expect(poison.attempts == 3)
            #expect(poison.error is NotingHandler.Refused)
            let undecodable = try #require(letters.first { $0.event == nil })
            #expect((undecodable.error as? EventTopicsError)?.code == .missingHeader)
            #expect(text(undecodable.message?.value) == "{")
        }
    }

    @Test func `events that wait in the process are bounded, and none is lost`() async throws {
        try await KafkaFixture.with { kafka in
            let pool = try await kafka.pool(AuthEvent.topic.contract, partitions: 1)
            let producer = EventProducer(kafka.producer, pool: pool)
            let gate = Gate()
            let handler = NotingHandler(gate: gate)
            var options = Self.options
            options.pendingEvents = 50
            options.batchLimit = 10
            try await withConsumer(kafka, pool: pool, handler, options: options) {
                try await producer.send((0..<1000).map { event("\($0)", user: "u\($0 % 3)") }).requireAll()
                try await eventually("handlers run") { handler.notes.withLock { $0.running } == 3 }
                gate.open()
                try await eventually("all are handled") { handler.ids.count == 1000 }
            }
            #expect(Set(handler.ids).count == 1000)
            #expect(handler.notes.withLock { $0.mostRunning } <= 4)
        }
    }

    @Test func `handlers that don't finish in the time of a shutdown are cancelled`() async throws {
        try await KafkaFixture.with { kafka in
            let pool = try await kafka.pool(AuthEvent.topic.contract)
            let handler = SleepingHandler()
            let consumer = EventConsumer(
                pool: pool, group: "g", kafka: kafka.configuration,
                options: EventConsumerOptions(drainTimeout: .milliseconds(300), sessionTimeout: kafka.sessionTimeout),
                handler: handler)
            let group = ServiceGroup(services: [consumer], logger: Logger(label: "test"))
            async let running: Void = group.run()
            try await EventProducer(kafka.producer, pool: pool).send(event("0", user: "u"))
            try await eventually("the handler runs", within: patience) { handler.state.withLock { $0 } == .running }
            let begin = ContinuousClock.now
            group.triggerGracefulShutdown()
            try await running
            #expect(handler.state.withLock { $0 } == .cancelled)
            #expect(ContinuousClock.now - begin < .seconds(10))
        }
    }

    @Test func `a shutdown waits for running handlers, and waiting events are delivered again`() async throws {
        try await KafkaFixture.with { kafka in
            let pool = try await kafka.pool(AuthEvent.topic.contract, partitions: 1)
            let producer = EventProducer(kafka.producer, pool: pool)
            let gate = Gate()
            let first = NotingHandler(gate: gate)
            var options = Self.options
            options.batchLimit = 1
            try await withConsumer(kafka, pool: pool, first, options: options) {
                try await producer.send((0..<3).map { event("\($0)", user: "u") }).requireAll()
                try await eventually("the first runs") { first.notes.withLock { $0.running } == 1 }
                Task {  // lets the handler go on after the shutdown has begun
                    try await Task.sleep(for: .milliseconds(200))
                    gate.open()
                }
            }
            #expect(first.ids == ["0"])
            let second = NotingHandler()
            try await withConsumer(kafka, pool: pool, second) {
                try await eventually("the rest is handled") { second.ids.count == 2 }
            }
            #expect(second.ids == ["1", "2"])
        }
    }

    @Test func `a member that isn't admitted yet ends at its deadline, or soon after its cancellation`() async throws {
        try await KafkaFixture.with { kafka in
            let pool = try await kafka.pool(AuthEvent.topic.contract)
            let gate = Gate()
            let handler = NotingHandler(gate: gate)
            var patient = Self.options
            patient.drainTimeout = .seconds(120)
            patient.concurrency = 100  // so that handlers run in all partitions
            var hasty = Self.options
            hasty.drainTimeout = .milliseconds(500)
            try await withConsumer(kafka, pool: pool, handler, options: patient) {
                try await EventProducer(kafka.producer, pool: pool)
                    .send((0..<100).map { event("\($0)", user: "u\($0)") }).requireAll()
                try await eventually("handlers run") { handler.notes.withLock { $0.running } == 100 }
                // The first holds its partitions until its handlers have ended, so that the group can't admit more members. Nothing tells
                // that a member has asked to join: each has a second for it.
                try await withConsumer(kafka, pool: pool, NotingHandler(), options: patient) {
                    try await Task.sleep(for: .seconds(1))
                    let begin = ContinuousClock.now
                    try await withConsumer(kafka, pool: pool, NotingHandler(), options: hasty) {
                        try await Task.sleep(for: .seconds(1))
                    }
                    let third = EventConsumer(
                        pool: pool, group: "g", kafka: kafka.configuration, options: patient, handler: NotingHandler())
                    let running = Task { try await third.run() }
                    let admission = Task { try await third.waitUntilAssigned() }
                    try await Task.sleep(for: .seconds(1))
                    running.cancel()
                    try? await running.value
                    admission.cancel()
                    await #expect(throws: CancellationError.self) { try await admission.value }
                    #expect(ContinuousClock.now - begin < .seconds(8))
                    #expect(handler.notes.withLock { $0.running } > 0)
                    gate.open()
                }
            }
        }
    }

    @Test func `a broker that goes away and comes back loses nothing`() async throws {
        try await KafkaFixture.embedded { kafka, broker in
            let pool = try await kafka.pool(AuthEvent.topic.contract)
            let producer = EventProducer(kafka.producer, pool: pool)
            let handler = NotingHandler()
            try await withConsumer(kafka, pool: pool, handler) {
                try await producer.send((0..<10).map { event("\($0)", user: "u\($0)") }).requireAll()
                try await eventually("the first ten", within: patience) { handler.ids.count == 10 }
                try broker.setDown(true)
                async let later = producer.send((10..<20).map { event("\($0)", user: "u\($0)") })
                try broker.setDown(false)
                try await later.requireAll()
                try await eventually("the others", within: patience) { Set(handler.ids).count == 20 }
            }
        }
    }
}
