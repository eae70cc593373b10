import EventTopics
import Kafka

/// Creates the topics of a pool. Services call it when they start; topics that another service has created are kept.
public enum TopicOwner {
    /// Creates the missing topics, and returns when every partition has a leader; safe when several processes call it at once.
    /// - Throws: `KafkaError`; `partitionCount` when a topic of the pool has a different number of partitions than its contract.
    public static func createAll(
        pool: String, on admin: KafkaAdmin, replicationFactor: Int? = nil, timeout: Duration = .seconds(60)
    ) async throws(KafkaError) {
        try await admin.createTopics(
            topics(pool: pool, replicationFactor: replicationFactor), timeout: timeout)
    }

    /// The topics that `createAll` creates; the host of an embedded broker creates them in it.
    public static func topics(pool: String, replicationFactor: Int? = nil) -> [KafkaTopic] {
        Topics.all.map { contract in
            KafkaTopic(
                name: contract.fullName(pool: pool), partitions: contract.partitions,
                replicationFactor: replicationFactor,
                configuration: contract.configuration.merging(
                    ["segment.ms": "\(contract.segment.components.seconds * 1000)"]
                ) { own, _ in own })
        }
    }
}
