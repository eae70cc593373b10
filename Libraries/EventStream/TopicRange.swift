import EventTopics
public import Kafka
import Logging

/// Reads a part of a topic once: from some offsets to its present end.
///
/// It has a client of its own, since a shared one can read a topic at one place only.
public final class TopicRange<Payload: EventPayload>: Sendable {
    private let consumer: KafkaConsumer
    private let topic: String

    /// Opens a client of the brokers; ``close()`` closes it.
    /// - Throws: `KafkaError` when a setting is refused.
    public init(pool: String, kafka: KafkaConfiguration, logger: Logger) throws(KafkaError) {
        topic = Payload.topic.fullName(pool: pool)
        consumer = try KafkaConsumer(configuration: kafka, logger: logger)
    }

    /// The offsets between which each of the topic's partitions has messages at present.
    /// - Throws: `KafkaError`, which is retriable while a partition has no leader.
    public func bounds() async throws(KafkaError) -> [KafkaWatermarks] {
        var bounds: [KafkaWatermarks] = []
        for partition in try await consumer.metadata(topic).partitions {
            bounds.append(try await consumer.watermarks(.init(topic: topic, partition: partition)))
        }
        return bounds
    }

    /// Reads until every partition's end is reached, or `handle` returns false.
    /// - Parameters:
    ///   - starts: the offset of the first message of each partition.
    ///   - ends: the offset after the last one, from `bounds`.
    ///   - patience: how long to wait for further messages.
    ///   - handle: receives the messages, in order within each partition, and possibly some after the ends; returns whether to read on.
    /// - Throws: `KafkaError`, `timedOut` when no message came for `patience`; what `handle` throws.
    public func read(
        from starts: [Int64], to ends: [Int64], patience: Duration = .seconds(10),
        handle: ([RawEvent<Payload>]) async throws -> Bool
    ) async throws {
        var unread: [Int32: Int64] = [:]
        var offsets: [KafkaTopicPartition: KafkaOffset] = [:]
        for (partition, (start, end)) in zip(starts, ends).enumerated() where start < end {
            unread[Int32(partition)] = end
            offsets[.init(topic: topic, partition: Int32(partition))] = .offset(start)
        }
        if unread.isEmpty { return }
        try await consumer.assign(offsets)
        var deadline = ContinuousClock.now + patience
        while !unread.isEmpty {
            try Task.checkCancellation()
            let batch = try await consumer.next()
            for message in batch.messages where unread[message.partition].map({ $0 <= message.offset + 1 }) ?? false {
                unread[message.partition] = nil
            }
            if !batch.messages.isEmpty {
                if try await !handle(batch.messages.map { RawEvent($0) }) { return }
                deadline = .now + patience
            } else if ContinuousClock.now > deadline {
                throw KafkaError(.timedOut, "\(topic): no messages came for \(patience)", isRetriable: true)
            }
        }
    }

    /// Closes the client.
    public func close() async { await consumer.close() }
}
