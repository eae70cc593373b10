private import Crdkafka
import Dispatch
import EventLoop
import Logging

/// A consumer handle of librdkafka, and the queues of the consumers that share it.
///
/// Events of a partition go to its reader's queue. Events of the client as a whole (a refused sign-in, a fatal error) go to the
/// queue of one of the readers.
///
/// `@unchecked Sendable`: the handle and its queue are thread-safe and constant; the rest is locked.
final class RDKafkaSharedClient: @unchecked Sendable {
    let handle: RDKafkaHandle
    /// A separate handle for queries: on a connection where a broker delays a fetch, they would wait behind it.
    let asking: RDKafkaHandle
    /// The queue for events of the client as a whole.
    private let main: OpaquePointer
    private let readers = Locked(Readers())

    /// `@unchecked`: librdkafka's queues may be used from any thread.
    private struct Readers: @unchecked Sendable {
        var queues: [OpaquePointer] = []
        var topics: Set<String> = []
        var isEnding = false
    }

    /// - Parameters:
    ///   - settings: properties of the handle that reads.
    ///   - plain: properties of the handle for queries.
    init(settings: [String: String], plain: [String: String], logger: Logger) throws(KafkaError) {
        asking = try RDKafkaHandle(.producer, settings: plain, events: 0, logger: logger)
        handle = try RDKafkaHandle(
            .consumer, settings: settings, events: RD_KAFKA_EVENT_FETCH | RD_KAFKA_EVENT_ERROR, logger: logger)
        let error = rd_kafka_poll_set_consumer(handle.pointer)
        guard error == RD_KAFKA_RESP_ERR_NO_ERROR, let main = rd_kafka_queue_get_consumer(handle.pointer) else {
            throw KafkaError(native: error.rawValue, context: "consumer queue")
        }
        self.main = main
    }

    /// Creates a queue for another reader.
    func join() throws(KafkaError) -> OpaquePointer {
        let queue = readers.withLock { readers -> OpaquePointer? in
            guard !readers.isEnding, let queue = rd_kafka_queue_new(handle.pointer) else { return nil }
            if readers.queues.isEmpty {
                // Earlier events, for which there was no reader, are discarded.
                while let event = rd_kafka_queue_poll(main, 0) { rd_kafka_event_destroy(event) }
                rd_kafka_queue_forward(main, queue)
            }
            readers.queues.append(queue)
            return queue
        }
        guard let queue else { throw KafkaError(.closed, "the client is closed") }
        return queue
    }

    /// Reserves topics for one reader.
    /// - Throws: `configuration` when another reader has one of them, since a message goes to only one queue.
    func take(_ topics: Set<String>) throws(KafkaError) {
        let taken = readers.withLock { readers -> String? in
            if let taken = topics.first(where: readers.topics.contains) { return taken }
            readers.topics.formUnion(topics)
            return nil
        }
        if let taken { throw KafkaError(.configuration, "\(taken) is read through this client already") }
    }

    /// Forwards the messages of a partition to a reader's queue.
    func forward(_ partition: KafkaTopicPartition, to queue: OpaquePointer) {
        guard let own = rd_kafka_queue_get_partition(handle.pointer, partition.topic, partition.partition) else {
            return
        }
        rd_kafka_queue_forward(own, queue)
        rd_kafka_queue_destroy(own)
    }

    /// Releases topics for other readers.
    func release(_ topics: Set<String>) { readers.withLock { $0.topics.subtract(topics) } }

    /// Removes a reader's queue after its partitions were released. Blocks when it was the last one of a client that has been
    /// closed.
    func leave(_ queue: OpaquePointer) {
        let isLast = readers.withLock { readers in
            readers.queues.removeAll { $0 == queue }
            rd_kafka_queue_forward(main, readers.queues.first)
            return readers.isEnding && readers.queues.isEmpty
        }
        rd_kafka_queue_destroy(queue)
        if isLast { finish() }
    }

    /// Ends the client, immediately or with its last reader.
    func end() async {
        let isLast = readers.withLock { readers in
            if readers.isEnding { return false }
            readers.isEnding = true
            return readers.queues.isEmpty
        }
        guard isLast else { return }
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            DispatchQueue.global().async {
                self.finish()
                continuation.resume()
            }
        }
    }

    /// Ends both handles. Blocks.
    private func finish() {
        // A handle that is destroyed while partitions are being unassigned can wait for them forever.
        if let error = rd_kafka_consumer_close_queue(handle.pointer, main) { rd_kafka_error_destroy(error) }
        let end = ContinuousClock.now + .seconds(10)
        while rd_kafka_consumer_closed(handle.pointer) == 0, ContinuousClock.now < end {
            if let event = rd_kafka_queue_poll(main, 50) { rd_kafka_event_destroy(event) }
        }
        rd_kafka_queue_destroy(main)
        handle.destroy()
        asking.destroy()
    }

    deinit {
        // Readers keep a reference to the client, so there are none left. The handles are destroyed by their own deinitializers.
        if !readers.withLock({ $0.isEnding }) { rd_kafka_queue_destroy(main) }
    }
}
