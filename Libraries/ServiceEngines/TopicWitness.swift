import AppRegistry
import ChangeStream
import DocumentModel
import DocumentStore
import EventStream
import EventTopics
import Kafka
import Logging
import Postgres

/// Finds out at a service's start whether Postgres is older than the topic `document-changes`: a snapshot of its data directory was put in
/// place while no service ran. Its numbers would be assigned again, and devices would take what they don't have for what they have.
///
/// It compares the last messages of each of the topic's partitions. A topic that was deleted, and one of the embedded broker, says nothing.
struct TopicWitness {
    let pool: String
    let kafka: KafkaConfiguration
    let store: DocumentStore
    let registry: AppRegistry
    let logger: Logger

    /// How many messages of each of the topic's partitions are compared.
    private static let depth: Int64 = 5

    /// Begins an epoch if the database lacks what the topic has.
    func compare() async throws {
        let changes = try await newest()
        // Of an app that was removed the database has nothing, and lacks nothing.
        let apps = try await registry.versions()
        let known = changes.filter { apps[$0.key.app] != nil }
        if known.isEmpty { return }
        let present = try await store.currentEpoch()
        let areLost = try await ChangeHistory(client: store.client).areLost(known)
        // Those of former epochs were lost when the present one began.
        let lost = zip(known, areLost).filter { $1 && $0.revision.epoch >= present }.map(\.0)
        guard let last = lost.map(\.revision.epoch).max() else { return }
        try await store.client.execute(
            "select partita.begin_epoch_after($1, 'the topic has later changes')", [.int(Int64(last))])
        logger.warning(
            "the database is older than the topic of changes: an epoch begins",
            metadata: ["app.id": "\(lost[0].key.app)", "partition.id": "\(lost[0].key.partition)"])
    }

    /// The last changes of each of the topic's partitions.
    private func newest() async throws -> [(key: PartitionKey, revision: Revision)] {
        let range = try TopicRange<DocumentChangesEvent>(pool: pool, kafka: kafka, logger: logger)
        var changes: [(key: PartitionKey, revision: Revision)] = []
        do {
            let bounds = try await range.bounds()
            let starts = bounds.map { max($0.low, $0.high - Self.depth) }
            try await range.read(from: starts, to: bounds.map(\.high)) { events in
                for event in events {
                    guard let revision = event.revision,
                        let (app, partition) = DocumentChangesEvent.parse(key: event.key)
                    else { continue }
                    changes.append((PartitionKey(app: app, partition: partition), revision))
                }
                return true
            }
        } catch {
            await range.close()
            throw error
        }
        await range.close()
        return changes
    }
}
