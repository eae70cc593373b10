import EventTopics
import Kafka

/// Creates the topics of a pool. There is one owner: services call this at their start, and find what another one made.
public enum TopicOwner {
    /// Creates what is missing, and returns when every partition has a leader; safe when several processes do it at once.
    /// - Throws: `KafkaError`; `partitionCount` when a topic of the pool has another number of partitions than its contract says.
    public static func createAll(
        pool: String, on admin: KafkaAdmin, replicationFactor: Int? = nil, timeout: Duration = .seconds(60)
    ) async throws(KafkaError) {
        try await admin.createTopics(
            topics(pool: pool, replicationFactor: replicationFactor), timeout: timeout)
    }

    /// What `createAll` creates; who hosts an embedded broker makes these there.
    public static func topics(pool: String, replicationFactor: Int? = nil) -> [KafkaTopic] {
        Topics.all.map { contract in
            KafkaTopic(
                name: contract.fullName(pool: pool), partitions: contract.partitions,
                replicationFactor: replicationFactor, configuration: contract.configuration)
        }
    }
}
