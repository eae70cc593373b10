import DocumentModel
import EventLoop
import EventStream
import EventTopics
import Kafka
import Lifecycle
import Logging
import TestSupport
import Testing

@Suite struct StateReaderTests {
    private func run(_ service: any Service, _ body: () async throws -> Void) async throws {
        let group = ServiceGroup(services: [service], logger: Logger(label: "test"))
        async let running: Void = group.run()
        let result: Result<Void, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        group.triggerGracefulShutdown()
        try await running
        try result.get()
    }

    @Test func `state is complete when it says so, and follows changes`() async throws {
        try await KafkaFixture.with { kafka in
            let pool = try await kafka.pool(AppDefinitionEvent.topic.contract)
            let producer = EventProducer(kafka.producer, pool: pool)
            try await producer.send(
                (1...40).map { AppDefinitionEvent(app: "app-\($0 % 10)", version: $0, time: 0) }
            ).requireAll()
            try await producer.remove(key: "app-3", from: AppDefinitionEvent.topic)
            let state = Locked<[String: Int64]>([:])
            let reader = StateReader<AppDefinitionEvent>(pool: pool, kafka: kafka.client) { changes in
                state.withLock { state in
                    for change in changes {
                        switch change {
                        case .set(let event): state[event.payload.app] = event.payload.version
                        case .removed(let key): state[key] = nil
                        }
                    }
                }
            }
            try await run(reader) {
                try await reader.waitUntilCaughtUp()
                let caughtUp = state.withLock { $0 }
                #expect(caughtUp.count == 9)
                #expect(caughtUp["app-0"] == 40)
                try await producer.send(AppDefinitionEvent(app: "app-3", version: 41, time: 0))
                try await eventually("the new version") { state.withLock { $0["app-3"] } == 41 }
            }
        }
    }

    @Test func `the embedded broker serves state and tails, too`() async throws {
        try await KafkaFixture.embedded { kafka, _ in
            let pool = try await kafka.pool(AppDefinitionEvent.topic.contract)
            let producer = EventProducer(kafka.producer, pool: pool)
            try await producer.send(AppDefinitionEvent(app: "a", version: 1, time: 0))
            let state = Locked<[Int64]>([])
            let tailed = Locked<[String]>([])
            let reader = StateReader<AppDefinitionEvent>(pool: pool, kafka: kafka.client) { changes in
                for case .set(let event) in changes { state.withLock { $0.append(event.payload.version) } }
            }
            // Of one topic, so each through a client of its own.
            let client = KafkaClient(configuration: kafka.configuration)
            let tail = EventTail<AppDefinitionEvent>(pool: pool, kafka: client) { events in
                tailed.withLock { $0 += events.map(\.key) }
            }
            try await run(reader) {
                try await run(tail) {
                    try await reader.waitUntilCaughtUp()
                    #expect(state.withLock { $0 } == [1])
                    try await tail.waitUntilPositioned()
                    try await producer.send(AppDefinitionEvent(app: "b", version: 2, time: 0))
                    try await eventually("both have it") {
                        state.withLock { $0 } == [1, 2] && tailed.withLock { $0 } == ["b"]
                    }
                }
            }
        }
    }

    @Test func `an empty topic is caught up at once, and a missing one is waited for`() async throws {
        try await KafkaFixture.with { kafka in
            let reader = StateReader<AppDefinitionEvent>(pool: kafka.prefix, kafka: kafka.client) { _ in }
            try await run(reader) {
                #expect(!reader.isCaughtUp)
                _ = try await kafka.pool(AppDefinitionEvent.topic.contract)
                try await reader.waitUntilCaughtUp()
            }
        }
    }

    @Test func `a tail delivers all that is stored after it is positioned, and nothing before`() async throws {
        try await KafkaFixture.with { kafka in
            let pool = try await kafka.pool(AppDefinitionEvent.topic.contract)
            let producer = EventProducer(kafka.producer, pool: pool)
            try await producer.send((1...10).map { AppDefinitionEvent(app: "old-\($0)", version: $0, time: 0) })
                .requireAll()
            let seen = Locked<[String]>([])
            let tail = EventTail<AppDefinitionEvent>(pool: pool, kafka: kafka.client) { events in
                seen.withLock { $0 += events.map(\.key) }
            }
            try await run(tail) {
                try await tail.waitUntilPositioned()
                try await producer.send((1...10).map { AppDefinitionEvent(app: "new-\($0)", version: $0, time: 0) })
                    .requireAll()
                try await eventually("ten events") { seen.withLock { $0.count } == 10 }
            }
            #expect(seen.withLock { $0 }.allSatisfy { $0.hasPrefix("new-") })
        }
    }

    @Test(arguments: [false, true])
    func `a tail on demand reads while it is used, and once more later`(_ isEmbedded: Bool) async throws {
        try await KafkaFixture.with(isEmbedded) { kafka in
            let pool = try await kafka.pool(AppDefinitionEvent.topic.contract)
            let producer = EventProducer(kafka.producer, pool: pool)
            let seen = Locked<[String]>([])
            let tail = OnDemandTail<AppDefinitionEvent>(pool: pool, kafka: kafka.client, linger: .milliseconds(50)) {
                events in seen.withLock { $0 += events.map(\.key) }
            }
            try await self.run(tail) {
                for round in 1...3 {
                    try await producer.send(AppDefinitionEvent(app: "missed-\(round)", version: 1, time: 0))
                    #expect(!tail.isReading)
                    // Two concurrent calls share the read.
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for user in 1...2 {
                            group.addTask {
                                let app = "\(round)-\(user)"
                                try await tail.whileReading {
                                    try await producer.send(AppDefinitionEvent(app: app, version: 1, time: 0))
                                    try await eventually("the answer") { seen.withLock { $0.contains(app) } }
                                }
                            }
                        }
                        try await group.waitForAll()
                    }
                    try await eventually("it stops") { !tail.isReading }
                }
            }
            #expect(seen.withLock { $0.sorted() } == (1...3).flatMap { ["\($0)-1", "\($0)-2"] })
        }
    }
}
