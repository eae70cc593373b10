import EventLoop
import EventTopics
import Kafka
import Lifecycle
import Logging

/// Reads all partitions of a topic without a group; shared by `StateReader` and `EventTail`.
struct TopicReader: Sendable {
    enum Start { case beginning, end }

    private let contract: TopicContract
    private let topic: String
    private let start: Start
    private let client: KafkaClient
    private let logger: Logger

    init(_ contract: TopicContract, pool: String, from start: Start, through client: KafkaClient, logger: Logger) {
        topic = contract.fullName(pool: pool)
        self.start = start
        self.client = client
        self.logger = logger
        self.contract = contract
    }

    /// Reads until cancelled.
    /// - Parameters:
    ///   - onPositioned: called once with the partitions, when the start position is fixed: everything that the brokers store afterwards is
    ///     read.
    ///   - onCaughtUp: called once, when everything that the topic held at the start has been read.
    ///   - onBatch: receives the messages, in order within each partition.
    func run(
        onPositioned: @Sendable ([KafkaTopicPartition: KafkaOffset]) async -> Void,
        onCaughtUp: @Sendable () async -> Void,
        onBatch: @Sendable ([KafkaMessage]) async throws -> Void
    ) async throws {
        let consumer = try KafkaConsumer(sharing: client, logger: logger)
        let readCounter = EventStreamMetrics.read[contract.name]
        let result: Result<Void, any Error>
        do {
            let offsets = try await position(consumer)
            await onPositioned(offsets)
            var unread = start == .end ? [] : Set(offsets.keys)
            if unread.isEmpty { await onCaughtUp() }
            while !Task.isCancelled {
                let batch = try await consumer.next(timeout: .seconds(5))
                if !batch.messages.isEmpty {
                    readCounter.increment(by: batch.messages.count)
                    try await onBatch(batch.messages)
                }
                guard !unread.isEmpty, !batch.ends.isEmpty else { continue }
                unread.subtract(batch.ends)
                if unread.isEmpty { await onCaughtUp() }
            }
            result = .success(())
        } catch {
            result = .failure(error)
        }
        await consumer.close()
        try result.get()
    }

    /// Assigns all partitions; waits while the broker is unavailable or the topic doesn't exist.
    private func position(_ consumer: KafkaConsumer) async throws -> [KafkaTopicPartition: KafkaOffset] {
        var backoff = RetryBackoff(RetrySchedule(first: .milliseconds(100), limit: .seconds(2)))
        let report = FailureReport("topic-reader", logger: logger)
        while true {
            do {
                let partitions = try await consumer.metadata(topic).partitions
                    .map { KafkaTopicPartition(topic: topic, partition: $0) }
                var offsets: [KafkaTopicPartition: KafkaOffset] = [:]
                for partition in partitions {
                    // The client would resolve "end" in the background, after `onPositioned` has been called.
                    offsets[partition] =
                        start == .beginning ? .beginning : .offset(try await consumer.watermarks(partition).high)
                }
                try await consumer.assign(offsets)
                report.succeeded("the topic can be read")
                return offsets
            } catch {
                guard error.isRetriable else { throw error }
                report.failed("the topic can't be read yet", error, metadata: ["topic": "\(topic)"])
                try await Task.sleep(for: backoff.next())
            }
        }
    }
}
