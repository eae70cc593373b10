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

/// Change rows in memory.
final class MemoryGapSource: GapSource {
    private let rows: [ChangeEvent]
    private let hasHeads: Bool
    private let lost: Set<Revision>
    /// Whether the rows can be seen: a transaction that lasts commits what began long ago.
    let areCommitted = Locked(true)
    /// How often all heads were compared.
    let sweeps = Locked(0)

    /// - Parameters:
    ///   - hasHeads: whether sweeps find the rows.
    ///   - lost: what the database has lost.
    init(_ rows: [ChangeEvent], hasHeads: Bool = true, lost: Set<Revision> = []) {
        self.rows = rows
        self.hasHeads = hasHeads
        self.lost = lost
    }

    func heads(
        unhandledBy _: String, of partitions: SweepScope, after key: PartitionKey?, limit: Int
    ) async throws -> [PartitionHead] {
        guard case .unchanged = partitions else { return [] }
        if key == nil {
            sweeps.withLock { $0 += 1 }
            // `SweepPace` makes it 199 times the wait before the next search of everything, so that several of what changed lately come before.
            try await Task.sleep(for: .milliseconds(10))
        }
        guard hasHeads, areCommitted.withLock({ $0 }) else { return [] }
        return Dictionary(grouping: rows) { PartitionKey(app: $0.app, partition: $0.partition) }
            .filter { entry in key.map { $0 < entry.key } ?? true }
            .sorted { $0.key < $1.key }.prefix(limit)
            .map { key, changes in
                PartitionHead(
                    app: key.app, partition: key.partition,
                    head: changes.map(\.revision).max() ?? Revision(epoch: 1, number: 0), time: 0)
            }
    }

    func areLost(_ changes: [(key: PartitionKey, revision: Revision)]) async throws -> [Bool] {
        changes.map { lost.contains($0.revision) }
    }

    func changes(_ key: PartitionKey, after number: Int64, limit: Int) async throws -> [ChangeEvent] {
        Array(
            rows.filter { $0.app == key.app && $0.partition == key.partition && $0.revision.number > number }
                .sorted { $0.revision < $1.revision }.prefix(limit))
    }
}

/// Adds to a counter for each change, with its claim in the same transaction.
struct CountingHandler: ChangeHandler {
    let client: PostgresClient
    let handled = HandledEvents(consumer: "counting")
    /// A consumer of the database `db` of app `a`; `nil` for all.
    var collection: String?

    func concern(of apps: Set<ExactText>) async throws -> ConcernedCollections {
        var concerned = ConcernedCollections()
        concerned.add("a", database: "db", collection: collection)
        return concerned
    }

    func handle(_ events: [ReceivedEvent<DocumentChangesEvent>]) async throws {
        for event in events {
            guard case .change(let change) = event.payload else { continue }
            try await client.withTransaction { transaction in
                let isFresh = try await handled.claim(change, in: transaction)
                guard isFresh else { return }
                try await transaction.execute(
                    "INSERT INTO effects (revision) VALUES ($1)", [.text("\(change.partition)/\(change.revision)")])
            }
        }
    }

    func deadLetter(_ letter: DeadLetter<DocumentChangesEvent>) async throws {
        Issue.record("put aside: \(letter.error)")
    }
}

/// Notes the revisions that it gets, call by call.
struct BatchHandler: ChangeHandler {
    let batches = Locked<[[Int64]]>([])

    func handle(_ events: [ReceivedEvent<DocumentChangesEvent>]) async throws {
        batches.withLock { $0.append(events.map(\.payload.revision.number)) }
    }

    func deadLetter(_ letter: DeadLetter<DocumentChangesEvent>) async throws {
        Issue.record("put aside: \(letter.error)")
    }
}

@Suite struct ChangeConsumerTests {
    private func change(_ partition: String, _ number: Int64, collection: String = "c", epoch: Int32 = 1) -> ChangeEvent
    {
        ChangeEvent(
            app: "a", namespace: .init(database: "db", collection: collection), operationType: .insert,
            documentKey: .int64(number), partition: Partition(text: partition),
            revision: Revision(epoch: epoch, number: number), incarnation: Revision(epoch: epoch, number: number),
            fullDocument: ["_id": .int64(number)], clusterTime: Timestamp(seconds: 1, increment: 1), wallTime: 0)
    }

    @Test func `changes that the topic lost or delivered twice take effect once`() async throws {
        try await withHandledEvents { (client) async throws in
            try await client.execute("CREATE TABLE effects (revision text)")
            try await KafkaFixture.with { kafka in
                let pool = try await kafka.pool(DocumentChangesEvent.topic.contract)
                let producer = EventProducer(kafka.producer, pool: pool)
                // In Postgres: s:a 1-10; s:b 4-6, of which the older ones are gone; s:c 1 is large.
                let rows =
                    (1...10).map { change("s:a", $0) } + (4...6).map { change("s:b", $0) } + [change("s:c", 1)]
                var brought: [DocumentChangesEvent] = []
                for number: Int64 in [1, 2, 2, 5, 4, 8] { brought.append(.change(change("s:a", number))) }
                brought.append(
                    .large(
                        LargeChange(
                            app: "a", namespace: .init(database: "db", collection: "c"), operationType: .insert,
                            documentKey: 1, partition: Partition(text: "s:c"), revision: Revision(epoch: 1, number: 1),
                            incarnation: Revision(epoch: 1, number: 1), size: 5_000_000, wallTime: 0)))
                brought.append(
                    .head(
                        PartitionHead(
                            app: "a", partition: Partition(text: "s:a"), head: Revision(epoch: 1, number: 10), time: 0))
                )
                try await producer.send(brought).requireAll()

                let consumer = ChangeConsumer(
                    pool: pool, name: "counting", kafka: kafka.configuration, postgres: client,
                    source: MemoryGapSource(rows), options: EventConsumerOptions(sessionTimeout: kafka.sessionTimeout),
                    handler: CountingHandler(client: client))
                let group = ServiceGroup(services: [consumer], logger: Logger(label: "test"))
                async let running: Void = group.run()
                try await eventually("all effects", within: patience) {
                    try await client.query("SELECT count(*) FROM effects").decode(Int64.self) == [14]
                }
                try await producer.send(brought).requireAll()
                group.triggerGracefulShutdown()
                try await running
                let effects = try await client.query("SELECT revision FROM effects").decode(String.self)
                #expect(Set(effects) == Set(rows.map { "\($0.partition)/\($0.revision)" }))
                #expect(effects.count == 14)
                let handled = HandledEvents(consumer: "counting")
                let key = PartitionKey(app: "a", partition: Partition(text: "s:b"))
                #expect(try await handled.progress([key], on: client)[key] == .init(watermark: 6, above: []))
            }
        }
    }

    @Test func `old changes that the topic never delivers are found by a later sweep`() async throws {
        try await withHandledEvents { (client) async throws in
            try await client.execute("CREATE TABLE effects (revision text)")
            try await KafkaFixture.with { kafka in
                let pool = try await kafka.pool(DocumentChangesEvent.topic.contract)
                let source = MemoryGapSource((1...3).map { change("s:a", $0) })
                source.areCommitted.withLock { $0 = false }
                let consumer = ChangeConsumer(
                    pool: pool, name: "counting", kafka: kafka.configuration, postgres: client, source: source,
                    options: EventConsumerOptions(sessionTimeout: kafka.sessionTimeout),
                    sweepInterval: .milliseconds(200), handler: CountingHandler(client: client))
                let group = ServiceGroup(services: [consumer], logger: Logger(label: "test"))
                async let running: Void = group.run()
                // After the first sweep, which is said to handle everything that it finds.
                try await eventually("a sweep has found nothing", within: patience) {
                    source.sweeps.withLock { $0 } > 1
                }
                source.areCommitted.withLock { $0 = true }
                try await eventually("they are handled", within: .seconds(20)) {
                    try await client.query("SELECT count(*) FROM effects").decode(Int64.self) == [3]
                }
                group.triggerGracefulShutdown()
                try await running
            }
        }
    }

    @Test func `events of changes that the database has lost are skipped, and others have their numbers`() async throws
    {
        try await withHandledEvents { (client) async throws in
            try await client.execute("CREATE TABLE effects (revision text)")
            try await KafkaFixture.with { kafka in
                let pool = try await kafka.pool(DocumentChangesEvent.topic.contract)
                let producer = EventProducer(kafka.producer, pool: pool)
                // Of epoch 1 the database has two changes; then epoch 2 began.
                let kept = (1...2).map { change("s:a", $0) }
                let lost = (3...5).map { change("s:a", $0) }
                let next = (3...4).map { change("s:a", $0, epoch: 2) }
                try await producer.send((kept + lost + next).map { DocumentChangesEvent.change($0) }).requireAll()
                let source = MemoryGapSource(kept + next, lost: Set(lost.map(\.revision)))
                let consumer = ChangeConsumer(
                    pool: pool, name: "counting", kafka: kafka.configuration, postgres: client, source: source,
                    options: EventConsumerOptions(sessionTimeout: kafka.sessionTimeout),
                    handler: CountingHandler(client: client))
                let group = ServiceGroup(services: [consumer], logger: Logger(label: "test"))
                async let running: Void = group.run()
                try await eventually("all effects", within: patience) {
                    try await client.query("SELECT count(*) FROM effects").decode(Int64.self) == [4]
                }
                // Those that are lost come once more, and nothing else has an effect.
                try await producer.send((lost + [change("s:a", 5, epoch: 2)]).map { DocumentChangesEvent.change($0) })
                    .requireAll()
                let effects = "SELECT revision FROM effects ORDER BY revision"
                let meant = ["s:a/1.1", "s:a/1.2", "s:a/2.3", "s:a/2.4", "s:a/2.5"]
                try await eventually("the last effect", within: patience) {
                    try await client.query(effects).decode(String.self) == meant
                }
                group.triggerGracefulShutdown()
                try await running
                #expect(try await client.query(effects).decode(String.self) == meant)
            }
        }
    }

    @Test func `large changes are loaded a few at a time`() async throws {
        try await withHandledEvents { (client) async throws in
            try await KafkaFixture.with { kafka in
                let pool = try await kafka.pool(DocumentChangesEvent.topic.contract)
                let rows = (1...40).map { change("s:a", $0) }
                let named = rows.map { row in
                    DocumentChangesEvent.large(
                        LargeChange(
                            app: "a", namespace: row.namespace, operationType: .insert, documentKey: row.documentKey,
                            partition: row.partition, revision: row.revision, incarnation: row.incarnation,
                            size: 1 << 20, wallTime: 0))
                }
                try await EventProducer(kafka.producer, pool: pool).send(named).requireAll()
                let handler = BatchHandler()
                let consumer = ChangeConsumer(
                    pool: pool, name: "noting", kafka: kafka.configuration, postgres: client,
                    source: MemoryGapSource(rows, hasHeads: false),
                    options: EventConsumerOptions(sessionTimeout: kafka.sessionTimeout),
                    handler: handler)
                let group = ServiceGroup(services: [consumer], logger: Logger(label: "test"))
                async let running: Void = group.run()
                try await eventually("all of them", within: patience) {
                    handler.batches.withLock { $0.joined().count } >= rows.count
                }
                group.triggerGracefulShutdown()
                try await running
                let batches = handler.batches.withLock { $0 }
                #expect(Array(batches.joined()) == Array(1...40))
                #expect(batches.allSatisfy { $0.count <= 4 }, "\(batches)")
            }
        }
    }

    @Test func `changes without a consumer are skipped unread, and their offsets advance`() async throws {
        try await withHandledEvents { (client) async throws in
            try await client.execute("CREATE TABLE effects (revision text)")
            try await KafkaFixture.with { kafka in
                let pool = try await kafka.pool(DocumentChangesEvent.topic.contract)
                let producer = EventProducer(kafka.producer, pool: pool)
                let rows = (1...20).map { change("s:a", $0, collection: $0 == 7 ? "seen" : "other") }
                // A read of one of the others fails.
                for row in rows {
                    var record = producer.record(DocumentChangesEvent.change(row))
                    if row.namespace.collection == "other" { record.value = Array("no JSON".utf8) }
                    try await kafka.producer.send(record)
                }
                let options = EventConsumerOptions(sessionTimeout: kafka.sessionTimeout)
                func run(until condition: @Sendable () async throws -> Bool) async throws {
                    let consumer = ChangeConsumer(
                        pool: pool, name: "counting", kafka: kafka.configuration, postgres: client,
                        source: MemoryGapSource([]), options: options,
                        handler: CountingHandler(client: client, collection: "seen"))
                    let group = ServiceGroup(services: [consumer], logger: Logger(label: "test"))
                    async let running: Void = group.run()
                    try await eventually("it is handled", within: patience, condition)
                    group.triggerGracefulShutdown()
                    try await running
                }
                let handled = HandledEvents(consumer: "counting")
                let key = PartitionKey(app: "a", partition: Partition(text: "s:a"))
                try await run { try await handled.progress([key], on: client)[key]?.watermark == 20 }
                #expect(try await client.query("SELECT revision FROM effects").decode(String.self) == ["s:a/1.7"])

                // The next consumer begins after them, even if no record says any more that they are handled.
                try await client.execute("DELETE FROM partita.handled_events")
                try await producer.send(DocumentChangesEvent.change(change("s:a", 21, collection: "other")))
                try await run { try await handled.progress([key], on: client)[key]?.contains(21) == true }
                #expect(try await client.query("SELECT count(*) FROM effects").decode(Int64.self) == [1])
            }
        }
    }
}
