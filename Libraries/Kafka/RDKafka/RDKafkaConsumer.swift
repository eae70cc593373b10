private import Crdkafka
import Glibc
import Logging

/// A consumer of librdkafka. What may block is for its owner's own thread; the rest is safe from any.
///
/// `@unchecked Sendable`: the handle and its queue are thread-safe and constant; `assigned`, `topicNames` and `isClosed` belong to
/// the thread that polls and closes.
final class RDKafkaConsumer: @unchecked Sendable {
    enum Event {
        case message(KafkaMessage)
        case endOfPartition(KafkaTopicPartition)
        case assign([KafkaTopicPartition])
        case revoke([KafkaTopicPartition], isLost: Bool)
        case error(KafkaError, KafkaTopicPartition?)
    }

    /// librdkafka's marks for places that are no offsets.
    static let invalidOffset = Int64(-1001)  // RD_KAFKA_OFFSET_INVALID

    private let handle: RDKafkaHandle
    /// What brokers are asked through: the same, unless others read through it too.
    private var asking: RDKafkaHandle { shared?.asking ?? handle }
    private let queue: OpaquePointer
    /// Whose handle it is when others read through it too; `nil` when it is this consumer's own.
    private let shared: RDKafkaSharedClient?
    /// What is read through a shared client.
    private var assigned: [KafkaTopicPartition] = []
    private var topicNames: [OpaquePointer: String] = [:]
    private var isClosed = false

    init(settings: [String: String], logger: Logger) throws(KafkaError) {
        let events =
            RD_KAFKA_EVENT_FETCH | RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_REBALANCE | RD_KAFKA_EVENT_OFFSET_COMMIT
        handle = try RDKafkaHandle(.consumer, settings: settings, events: events, logger: logger)
        let error = rd_kafka_poll_set_consumer(handle.pointer)
        guard error == RD_KAFKA_RESP_ERR_NO_ERROR, let queue = rd_kafka_queue_get_consumer(handle.pointer) else {
            throw KafkaError(native: error.rawValue, context: "consumer queue")
        }
        self.queue = queue
        shared = nil
    }

    /// Reads through a client that others read through as well: partitions that are assigned, no group.
    init(sharing client: RDKafkaSharedClient) throws(KafkaError) {
        handle = client.handle
        queue = try client.join()
        shared = client
    }

    // MARK: What to read

    func subscribe(_ topics: [String]) throws(KafkaError) {
        try check(
            "subscribe",
            withList(topics.map { (KafkaTopicPartition(topic: $0, partition: -1), Self.invalidOffset) }) {
                rd_kafka_subscribe(handle.pointer, $0)
            })
    }

    func assign(_ offsets: [(KafkaTopicPartition, KafkaOffset)]) throws(KafkaError) {
        let list = offsets.map { ($0.0, $0.1.native) }
        guard let shared else {
            return try check("assign", withList(list) { rd_kafka_assign(handle.pointer, $0) })
        }
        giveBack(to: shared)
        try shared.take(Set(offsets.map(\.0.topic)))
        assigned = offsets.map(\.0)
        for partition in assigned { shared.forward(partition, to: queue) }
        try check("assign", withList(list) { rd_kafka_incremental_assign(handle.pointer, $0) })
    }

    /// Reads nothing any more of what a shared client reads for this consumer.
    private func giveBack(to shared: RDKafkaSharedClient) {
        guard !assigned.isEmpty else { return }
        withList(assigned.map { ($0, Self.invalidOffset) }) { list in
            // What wasn't assigned, since that failed, needn't be given back.
            if let error = rd_kafka_incremental_unassign(handle.pointer, list) { rd_kafka_error_destroy(error) }
            // librdkafka's thread stops the partition later, and takes away its forwarding then: if the partition were assigned again
            // before, its messages would go to another reader. This call does nothing to a partition that isn't paused, but
            // is answered behind the stop.
            rd_kafka_resume_partitions(handle.pointer, list)
        }
        shared.release(Set(assigned.map(\.topic)))
        assigned = []
    }

    /// Takes what the group's leader gave; to be called once for each `assign` event.
    func accept(_ partitions: [KafkaTopicPartition]) throws(KafkaError) {
        let list = partitions.map { ($0, Self.invalidOffset) }
        if isCooperative {
            try check("assign", withList(list) { rd_kafka_incremental_assign(handle.pointer, $0) })
        } else {
            try check("assign", withList(list) { rd_kafka_assign(handle.pointer, $0) })
        }
    }

    /// Gives back; to be called once for each `revoke` event. Stored offsets of these partitions are committed with it.
    func release(_ partitions: [KafkaTopicPartition]) throws(KafkaError) {
        if isCooperative {
            try check(
                "unassign",
                withList(partitions.map { ($0, Self.invalidOffset) }) {
                    rd_kafka_incremental_unassign(handle.pointer, $0)
                })
        } else {
            try check("unassign", rd_kafka_assign(handle.pointer, nil))
        }
    }

    private var isCooperative: Bool {
        rd_kafka_rebalance_protocol(handle.pointer).map { String(cString: $0) == "COOPERATIVE" } ?? false
    }

    func pause(_ partitions: [KafkaTopicPartition]) throws(KafkaError) {
        try check(
            "pause",
            withList(partitions.map { ($0, Self.invalidOffset) }) {
                rd_kafka_pause_partitions(handle.pointer, $0)
            })
    }

    func resume(_ partitions: [KafkaTopicPartition]) throws(KafkaError) {
        try check(
            "resume",
            withList(partitions.map { ($0, Self.invalidOffset) }) {
                rd_kafka_resume_partitions(handle.pointer, $0)
            })
    }

    /// May block.
    func seek(_ partition: KafkaTopicPartition, to offset: KafkaOffset, timeout: Duration) throws(KafkaError) {
        guard let topic = rd_kafka_topic_new(handle.pointer, partition.topic, nil) else {
            throw KafkaError(native: rd_kafka_last_error().rawValue, context: "seek \(partition)")
        }
        defer { rd_kafka_topic_destroy(topic) }
        // Not rd_kafka_seek_partitions: in 2.0 it waits a thousandth of its timeout.
        try check(
            "seek \(partition)",
            rd_kafka_seek(topic, partition.partition, offset.native, timeout.nativeMilliseconds))
    }

    // MARK: Reading

    /// Waits up to `timeout` for the first event, then gives what is there without waiting. Blocks; one thread at a time.
    func poll(timeout: Duration, limit: Int, byteLimit: Int) -> [Event] {
        var events: [Event] = []
        var bytes = 0
        var wait = timeout.nativeMilliseconds
        while events.count < limit, bytes < byteLimit, let native = rd_kafka_queue_poll(queue, wait) {
            wait = 0
            defer { rd_kafka_event_destroy(native) }
            guard let event = event(native) else { continue }
            events.append(event)
            switch event {
            case .message(let message): bytes += (message.value?.count ?? 0) + (message.key?.count ?? 0)
            case .endOfPartition: break
            // What follows a rebalance may depend on how it is answered.
            case .assign, .revoke, .error: return events
            }
        }
        return events
    }

    /// Makes a `poll` that waits, or the next one, return at once.
    func interrupt() { rd_kafka_queue_yield(queue) }

    private func event(_ native: OpaquePointer) -> Event? {
        switch rd_kafka_event_type(native) {
        case RD_KAFKA_EVENT_FETCH:
            guard let message = rd_kafka_event_message_next(native) else { return nil }
            return self.message(message)
        case RD_KAFKA_EVENT_REBALANCE:
            let partitions = rd_kafka_event_topic_partition_list(native).map { Self.partitions($0) } ?? []
            guard rd_kafka_event_error(native) == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS else {
                return .revoke(partitions, isLost: rd_kafka_assignment_lost(handle.pointer) != 0)
            }
            return .assign(partitions)
        case RD_KAFKA_EVENT_OFFSET_COMMIT:
            let error = rd_kafka_event_error(native)
            if error == RD_KAFKA_RESP_ERR_NO_ERROR || error == RD_KAFKA_RESP_ERR__NO_OFFSET { return nil }
            return .error(KafkaError(native: error.rawValue, context: "commit"), nil)
        case RD_KAFKA_EVENT_ERROR:
            let error = rd_kafka_event_error(native)
            var partition: KafkaTopicPartition?
            if let element = rd_kafka_event_topic_partition(native) {
                partition = KafkaTopicPartition(
                    topic: String(cString: element.pointee.topic), partition: element.pointee.partition)
                rd_kafka_topic_partition_destroy(element)
            }
            if error == RD_KAFKA_RESP_ERR__PARTITION_EOF, let partition { return .endOfPartition(partition) }
            let detail = rd_kafka_event_error_string(native).map { String(cString: $0) }
            return .error(
                KafkaError(
                    native: error.rawValue, context: partition?.description ?? "consumer", detail: detail,
                    isFatal: rd_kafka_event_error_is_fatal(native) != 0), partition)
        default: return nil
        }
    }

    private func message(_ pointer: UnsafePointer<rd_kafka_message_t>) -> Event? {
        let native = pointer.pointee
        guard let topic = native.rkt else { return nil }
        let partition = KafkaTopicPartition(topic: name(topic), partition: native.partition)
        guard native.err == RD_KAFKA_RESP_ERR_NO_ERROR else {
            if native.err == RD_KAFKA_RESP_ERR__PARTITION_EOF { return .endOfPartition(partition) }
            return .error(KafkaError(native: native.err.rawValue, context: partition.description), partition)
        }
        var kind = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE
        let timestamp = rd_kafka_message_timestamp(pointer, &kind)
        return .message(
            KafkaMessage(
                topicPartition: partition, offset: native.offset,
                timestamp: kind == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE ? -1 : timestamp,
                key: native.key.map { Array(UnsafeRawBufferPointer(start: $0, count: native.key_len)) },
                value: native.payload.map { Array(UnsafeRawBufferPointer(start: $0, count: native.len)) },
                headers: KafkaHeaders(message: pointer)))
    }

    private func name(_ topic: OpaquePointer) -> String {
        if let known = topicNames[topic] { return known }
        let name = String(cString: rd_kafka_topic_name(topic))
        topicNames[topic] = name
        return name
    }

    // MARK: Offsets

    /// Remembers where reading goes on; committed from time to time and when the partitions are given back. Offsets of partitions
    /// that no longer belong to this member are ignored.
    func store(_ next: [(KafkaTopicPartition, Int64)]) throws(KafkaError) {
        let error = withList(next) { rd_kafka_offsets_store(handle.pointer, $0) }
        let isForeign = error == RD_KAFKA_RESP_ERR__STATE || error == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION
        if !isForeign { try check("store offsets", error) }
    }

    /// Commits what is stored, and waits for the broker. May block.
    func commit() throws(KafkaError) {
        let error = rd_kafka_commit(handle.pointer, nil, 0)
        if error != RD_KAFKA_RESP_ERR__NO_OFFSET { try check("commit", error) }
    }

    /// May block.
    func committed(_ partitions: [KafkaTopicPartition], timeout: Duration) throws(KafkaError) -> [KafkaTopicPartition:
        Int64]
    {
        var offsets: [KafkaTopicPartition: Int64] = [:]
        try check(
            "committed offsets",
            withList(partitions.map { ($0, Self.invalidOffset) }) { list in
                let error = rd_kafka_committed(handle.pointer, list, timeout.nativeMilliseconds)
                offsets = Self.offsets(list)
                return error
            })
        return offsets
    }

    /// The next offset to be read, for each partition from which something was.
    func positions(_ partitions: [KafkaTopicPartition]) throws(KafkaError) -> [KafkaTopicPartition: Int64] {
        var offsets: [KafkaTopicPartition: Int64] = [:]
        try check(
            "positions",
            withList(partitions.map { ($0, Self.invalidOffset) }) { list in
                let error = rd_kafka_position(handle.pointer, list)
                offsets = Self.offsets(list)
                return error
            })
        return offsets
    }

    /// Asks the partition's leader. May block.
    func watermarks(_ partition: KafkaTopicPartition, timeout: Duration) throws(KafkaError) -> KafkaWatermarks {
        var low: Int64 = 0
        var high: Int64 = 0
        try check(
            "watermarks of \(partition)",
            rd_kafka_query_watermark_offsets(
                asking.pointer, partition.topic, partition.partition, &low, &high, timeout.nativeMilliseconds))
        return KafkaWatermarks(low: low, high: high)
    }

    /// As of the last fetch; `nil` before the first.
    func knownWatermarks(_ partition: KafkaTopicPartition) -> KafkaWatermarks? {
        var low: Int64 = 0
        var high: Int64 = 0
        let error = rd_kafka_get_watermark_offsets(handle.pointer, partition.topic, partition.partition, &low, &high)
        guard error == RD_KAFKA_RESP_ERR_NO_ERROR, high >= 0 else { return nil }
        return KafkaWatermarks(low: low, high: high)
    }

    /// May block.
    func metadata(_ topic: String, timeout: Duration) throws(KafkaError) -> KafkaTopicMetadata {
        try RDKafkaMetadata.fetch(asking, topic: topic, timeout: timeout)
    }

    /// Leaves the group, commits what is stored, and ends the client. Blocks; answers rebalances itself.
    func close(deadline: Duration) {
        if let shared {
            giveBack(to: shared)
            isClosed = true
            return shared.leave(queue)
        }
        if let error = rd_kafka_consumer_close_queue(handle.pointer, queue) { rd_kafka_error_destroy(error) }
        let end = ContinuousClock.now + deadline
        while rd_kafka_consumer_closed(handle.pointer) == 0, ContinuousClock.now < end {
            guard let native = rd_kafka_queue_poll(queue, 50) else { continue }
            defer { rd_kafka_event_destroy(native) }
            guard rd_kafka_event_type(native) == RD_KAFKA_EVENT_REBALANCE else { continue }
            // Whatever it says, the answer to it is to hold nothing.
            if isCooperative, let list = rd_kafka_event_topic_partition_list(native),
                rd_kafka_event_error(native) != RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS
            {
                if let error = rd_kafka_incremental_unassign(handle.pointer, list) { rd_kafka_error_destroy(error) }
            } else {
                rd_kafka_assign(handle.pointer, nil)
            }
        }
        isClosed = true
        rd_kafka_queue_destroy(queue)
        handle.destroy()
    }

    deinit {
        guard !isClosed else { return }
        if let shared {
            giveBack(to: shared)
            shared.leave(queue)
        } else {
            rd_kafka_queue_destroy(queue)
        }
    }

    // MARK: Lists

    private func withList<R>(
        _ offsets: [(KafkaTopicPartition, Int64)],
        _ body: (UnsafeMutablePointer<rd_kafka_topic_partition_list_t>) -> R
    ) -> R {
        guard let list = rd_kafka_topic_partition_list_new(Int32(offsets.count)) else {
            preconditionFailure("out of memory")
        }
        defer { rd_kafka_topic_partition_list_destroy(list) }
        for (partition, offset) in offsets {
            rd_kafka_topic_partition_list_add(list, partition.topic, partition.partition).pointee.offset = offset
        }
        return body(list)
    }

    private static func elements(
        _ list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>
    ) -> UnsafeBufferPointer<rd_kafka_topic_partition_t> {
        UnsafeBufferPointer(start: list.pointee.elems, count: Int(list.pointee.cnt))
    }

    private static func partitions(_ list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>)
        -> [KafkaTopicPartition]
    {
        elements(list).map { KafkaTopicPartition(topic: String(cString: $0.topic), partition: $0.partition) }
    }

    private static func offsets(_ list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>) -> [KafkaTopicPartition:
        Int64]
    {
        var offsets: [KafkaTopicPartition: Int64] = [:]
        for element in elements(list) where element.offset >= 0 {
            offsets[KafkaTopicPartition(topic: String(cString: element.topic), partition: element.partition)] =
                element.offset
        }
        return offsets
    }

    private func check(_ context: String, _ error: rd_kafka_resp_err_t) throws(KafkaError) {
        if error != RD_KAFKA_RESP_ERR_NO_ERROR { throw KafkaError(native: error.rawValue, context: context) }
    }

    private func check(_ context: String, _ error: OpaquePointer?) throws(KafkaError) {
        if let error { throw KafkaError(consuming: error, context: context) }
    }
}

extension KafkaOffset {
    fileprivate var native: Int64 {
        switch self {
        case .beginning: Int64(RD_KAFKA_OFFSET_BEGINNING)
        case .end: Int64(RD_KAFKA_OFFSET_END)
        case .offset(let offset): offset
        case .committed: Int64(RD_KAFKA_OFFSET_STORED)
        }
    }
}
