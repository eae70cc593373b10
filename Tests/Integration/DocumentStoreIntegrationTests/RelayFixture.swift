import ChangeStream
import DocumentModel
import DocumentStore
import EventLoop
import EventStream
import EventTopics
import Foundation
import Kafka
import TestSupport

/// A store, a pool of its own on the broker, and all that arrives in its `document-changes`.
struct RelayFixture: Sendable {
    let base: StoreFixture
    let producer: EventProducer
    private let received: Locked<[DocumentChangesEvent]>

    /// - Parameter settings: The broker's settings of the topic.
    static func with(topic settings: [String: String] = [:], _ body: @Sendable (RelayFixture) async throws -> Void)
        async throws
    {
        let engines = try await TestEngines.shared()
        let pool = engines.makePool()
        let kafka = engines.kafka
        let admin = KafkaAdmin(configuration: kafka)
        let topic = DocumentChangesEvent.topic.fullName(pool: pool)
        try await admin.createTopics([KafkaTopic(name: topic, partitions: 3, configuration: settings)])
        let producer = KafkaProducer(configuration: kafka, loop: StoreFixture.loops.next())
        let received = Locked<[DocumentChangesEvent]>([])
        let tail = EventTail<DocumentChangesEvent>(
            pool: pool, kafka: KafkaClient(configuration: kafka)
        ) { events in
            let payloads = try events.map { try $0.decoded().payload }
            received.withLock { $0 += payloads }
        }
        let result: Result<Void, any Error>
        do {
            try await StoreFixture.with { fixture in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await tail.run() }
                    try await tail.waitUntilPositioned()
                    try await body(
                        RelayFixture(
                            base: fixture, producer: EventProducer(producer, pool: pool), received: received))
                    group.cancelAll()
                }
            }
            result = .success(())
        } catch {
            result = .failure(error)
        }
        await producer.close(deadline: .seconds(1))
        try await admin.deleteTopics([topic])
        await admin.close()
        try result.get()
    }

    func relay(_ options: OutboxRelay.Options = OutboxRelay.Options(leaseDuration: .seconds(1))) -> OutboxRelay {
        OutboxRelay(store: base.store, producer: producer, on: StoreFixture.loops.next(), options: options)
    }

    /// Runs a relay while `body` runs; then it is cancelled, or ends as at a shutdown.
    func running(_ relay: OutboxRelay, _ body: @Sendable () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await relay.run() }
            try await body()
            group.cancelAll()
        }
    }

    /// The changes of a partition as they arrived.
    func changes(in partition: Partition) -> [ChangeEvent] {
        received.withLock { events in
            events.compactMap { event in
                if case .change(let change) = event, change.partition == partition { change } else { nil }
            }
        }
    }

    var all: [DocumentChangesEvent] { received.withLock { $0 } }

    func numbers(in partition: Partition) -> [Int64] { changes(in: partition).map(\.revision.number) }

    /// The numbers of a partition's changes that are only named.
    func large(in partition: Partition) -> [Int64] {
        all.compactMap { event in
            if case .large(let change) = event, change.partition == partition { change.revision.number } else { nil }
        }
    }
}
