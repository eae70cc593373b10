import ChangeStream
import DocumentModel
import EventLoop
import EventStream
import EventTopics
import Kafka
import Lifecycle
import Logging
import Postgres
import TestSupport
import Testing

/// Records changes in a transaction with their claim; those of the app `hog` only when its gate is open.
private final class GatedHandler: ChangeHandler {
    let client: PostgresClient
    let gate: Gate
    /// A process that was killed does nothing more.
    let isDead = Locked(false)
    private let handled = HandledEvents(consumer: "gated")

    init(client: PostgresClient, gate: Gate) {
        self.client = client
        self.gate = gate
    }

    func lane(of event: ReceivedEvent<DocumentChangesEvent>) -> String {
        guard case .change(let change) = event.payload else { return event.key }
        return "\(change.app)/\(change.documentKey.idText ?? "")"
    }

    func share(of event: ReceivedEvent<DocumentChangesEvent>) -> String { event.payload.app }

    func handle(_ events: [ReceivedEvent<DocumentChangesEvent>]) async throws {
        if events.first?.payload.app == "hog" { await gate.pass() }
        for event in events {
            guard case .change(let change) = event.payload else { continue }
            if isDead.withLock({ $0 }) { throw CancellationError() }
            try await client.withTransaction { transaction in
                guard try await handled.claim(change, in: transaction) else { return }
                try await transaction.execute(
                    "INSERT INTO effects (app, document, number) VALUES ($1, $2, $3)",
                    [.text(change.app), .text(change.documentKey.idText ?? ""), .int(change.revision.number)])
            }
        }
    }

    func deadLetter(_ letter: DeadLetter<DocumentChangesEvent>) async throws {
        Issue.record("put aside: \(letter.error)")
    }
}

@Suite struct HangingAppTests {
    /// Many times as many as may wait in the process.
    private static let hogCount: Int64 = 700
    private static let partition = Partition(text: "s:p")
    /// A partition of another app, in the same Kafka partition.
    private static let neighbour: Partition = {
        let count = Int(DocumentChangesEvent.topic.contract.partitions)
        func place(_ app: String, _ partition: Partition) -> Int32 {
            EventKey.partition(of: DocumentChangesEvent.key(app: app, partition: partition).utf8, count: count)
        }
        let names = (0...).lazy.map { Partition(text: "s:q\($0)") }
        return names.first { place("other", $0) == place("hog", partition) } ?? partition
    }()

    private func change(_ app: String, _ partition: Partition, _ number: Int64) -> ChangeEvent {
        let revision = Revision(epoch: 1, number: number)
        return ChangeEvent(
            app: app, namespace: .init(database: "db", collection: "c"), operationType: .insert,
            documentKey: .int64(number % 7), partition: partition, revision: revision, incarnation: revision,
            fullDocument: ["_id": .int64(number % 7)], clusterTime: Timestamp(seconds: 1, increment: 1), wallTime: 0)
    }

    private func consumer(
        _ kafka: KafkaFixture, pool: String, _ client: PostgresClient, _ source: MemoryGapSource,
        _ handler: GatedHandler
    ) -> ChangeConsumer<GatedHandler> {
        ChangeConsumer(
            pool: pool, name: "gated", kafka: kafka.configuration, postgres: client, source: source,
            options: EventConsumerOptions(
                concurrency: 4, pendingEvents: 100, drainTimeout: .milliseconds(200),
                sessionTimeout: kafka.sessionTimeout), handler: handler)
    }

    /// - Returns: the numbers of an app's changes, by document, in the order of their effects.
    private func effects(_ app: String, _ client: PostgresClient) async throws -> [String: [Int64]] {
        let rows = try await client.query(
            "SELECT document, number FROM effects WHERE app = $1 ORDER BY place", [.text(app)])
        return Dictionary(grouping: try rows.decode((String, Int64).self), by: \.0).mapValues { $0.map(\.1) }
    }

    private func expectEverythingOnceInOrder(_ app: String, upTo count: Int64, _ client: PostgresClient) async throws {
        let effects = try await effects(app, client)
        #expect(effects.values.reduce(0) { $0 + $1.count } == Int(count))
        for (document, numbers) in effects { #expect(numbers == numbers.sorted(), "\(document)") }
        #expect(Set(effects.values.joined()) == Set(1...count))
    }

    /// Handlers that wait for a gate would outlast a test that fails.
    private func opening<T>(_ gate: Gate, _ body: () async throws -> T) async throws -> T {
        do {
            return try await body()
        } catch {
            gate.open()
            throw error
        }
    }

    private func withEngines(_ body: @Sendable @escaping (PostgresClient, KafkaFixture, String) async throws -> Void)
        async throws
    {
        try await withHandledEvents { (client) async throws in
            try await client.execute(
                "CREATE TABLE effects (place bigserial, app text, document text, number bigint)")
            try await KafkaFixture.with { kafka in
                try await body(client, kafka, try await kafka.pool(DocumentChangesEvent.topic.contract))
            }
        }
    }

    @Test func `an app whose events hang stops no other in its Kafka partition, and loses nothing`() async throws {
        try await withEngines { client, kafka, pool in
            let producer = EventProducer(kafka.producer, pool: pool)
            let hog = (1...Self.hogCount + 20).map { change("hog", Self.partition, $0) }
            let other = (1...60).map { change("other", Self.neighbour, $0) }
            let gate = Gate()
            let consumer = consumer(
                kafka, pool: pool, client, MemoryGapSource(hog + other), GatedHandler(client: client, gate: gate))
            let group = ServiceGroup(services: [consumer], logger: Logger(label: "test"))
            async let running: Void = group.run()
            try await producer.send(hog.prefix(Int(Self.hogCount)).map(DocumentChangesEvent.change)).requireAll()
            try await producer.send(other.map(DocumentChangesEvent.change)).requireAll()
            try await opening(gate) {
                try await eventually("the other app's changes are handled", within: .seconds(20)) {
                    try await effects("other", client).values.reduce(0) { $0 + $1.count } == 60
                }
            }
            #expect(try await effects("hog", client).isEmpty)

            gate.open()
            try await producer.send(hog.suffix(20).map(DocumentChangesEvent.change)).requireAll()
            try await eventually("everything is handled", within: .seconds(30)) {
                try await effects("hog", client).values.reduce(0) { $0 + $1.count } == hog.count
            }
            group.triggerGracefulShutdown()
            try await running
            try await expectEverythingOnceInOrder("hog", upTo: Self.hogCount + 20, client)
            try await expectEverythingOnceInOrder("other", upTo: 60, client)
        }
    }

    @Test func `changes that a killed process didn't handle are handled by the next one, in order`() async throws {
        try await withEngines { client, kafka, pool in
            let producer = EventProducer(kafka.producer, pool: pool)
            let hog = (1...Self.hogCount + 20).map { change("hog", Self.partition, $0) }
            let other = (1...60).map { change("other", Self.neighbour, $0) }
            let source = MemoryGapSource(hog + other)
            let killed = GatedHandler(client: client, gate: Gate())
            let first = Task { try await consumer(kafka, pool: pool, client, source, killed).run() }
            try await producer.send(hog.prefix(Int(Self.hogCount)).map(DocumentChangesEvent.change)).requireAll()
            try await producer.send(other.map(DocumentChangesEvent.change)).requireAll()
            try await opening(killed.gate) {
                try await eventually("the other app's changes are handled", within: .seconds(20)) {
                    try await effects("other", client).values.reduce(0) { $0 + $1.count } == 60
                }
            }
            killed.isDead.withLock { $0 = true }
            first.cancel()
            killed.gate.open()
            _ = await first.result

            try await producer.send(hog.suffix(20).map(DocumentChangesEvent.change)).requireAll()
            let gate = Gate()
            gate.open()
            let next = consumer(kafka, pool: pool, client, source, GatedHandler(client: client, gate: gate))
            let group = ServiceGroup(services: [next], logger: Logger(label: "test"))
            async let running: Void = group.run()
            try await eventually("everything is handled", within: .seconds(30)) {
                try await effects("hog", client).values.reduce(0) { $0 + $1.count } == hog.count
            }
            group.triggerGracefulShutdown()
            try await running
            try await expectEverythingOnceInOrder("hog", upTo: Self.hogCount + 20, client)
        }
    }
}
