private import Crdkafka
import Glibc
import Logging

/// A consumer of librdkafka. Calls that may block belong on its owner's own thread; the others are safe on any thread.
///
/// `@unchecked Sendable`: the handle and its queue are thread-safe and constant; `assigned`, `topicNames`, `isClosed` and
/// `wasAssigned` belong to the thread that polls and closes.
final class RDKafkaConsumer: @unchecked Sendable {
    enum Event {
        case message(KafkaMessage)
        case endOfPartition(KafkaTopicPartition)
        case assign([KafkaTopicPartition])
        case revoke([KafkaTopicPartition], isLost: Bool)
        case error(KafkaError, KafkaTopicPartition?)
    }

    /// librdkafka's value for an offset that isn't set.
    static let invalidOffset = Int64(-1001)  // RD_KAFKA_OFFSET_INVALID

    private let handle: RDKafkaHandle
    /// The handle for queries to brokers: the same one, unless it is shared.
    private var asking: RDKafkaHandle { shared?.asking ?? handle }
    private let queue: OpaquePointer
    /// The owner of the handle when it is shared; `nil` when it is this consumer's own.
    private let shared: RDKafkaSharedClient?
    /// The partitions that are read through a shared client.
    private var assigned: [KafkaTopicPartition] = []
    /// The names by librdkafka's addresses. Emptied when partitions are given up: librdkafka may free their topics then, and use the addresses
    /// for others.
    private var topicNames: [OpaquePointer: String] = [:]
    private var isClosed = false
    /// Whether the group's leader has assigned partitions, maybe none.
    private var wasAssigned = false

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

    /// Reads assigned partitions, without a group, through a client that is shared with other consumers.
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
            topicNames = [:]
            return try check("assign", withList(list) { rd_kafka_assign(handle.pointer, $0) })
        }
        giveBack(to: shared)
        try shared.take(Set(offsets.map(\.0.topic)))
        assigned = offsets.map(\.0)
        for partition in assigned { shared.forward(partition, to: queue) }
        try check("assign", withList(list) { rd_kafka_incremental_assign(handle.pointer, $0) })
    }

    /// Unassigns the partitions that a shared client reads for this consumer.
    private func giveBack(to shared: RDKafkaSharedClient) {
        guard !assigned.isEmpty else { return }
        withList(assigned.map { ($0, Self.invalidOffset) }) { list in
            // An error means that the partitions weren't assigned, because that failed.
            if let error = rd_kafka_incremental_unassign(handle.pointer, list) { rd_kafka_error_destroy(error) }
            // librdkafka's thread stops the partition later, and only then removes its forwarding: if the partition were assigned
            // again before that, its messages would go to another reader. The next call has no effect on a partition that isn't
            // paused, but returns only after the stop.
            rd_kafka_resume_partitions(handle.pointer, list)
        }
        shared.release(Set(assigned.map(\.topic)))
        assigned = []
        topicNames = [:]
    }

    /// Accepts the partitions that the group's leader assigned. Must be called once for each `assign` event.
    func accept(_ partitions: [KafkaTopicPartition]) throws(KafkaError) {
        wasAssigned = true
        let list = partitions.map { ($0, Self.invalidOffset) }
        if isCooperative {
            try check("assign", withList(list) { rd_kafka_incremental_assign(handle.pointer, $0) })
        } else {
            try check("assign", withList(list) { rd_kafka_assign(handle.pointer, $0) })
        }
    }

    /// Releases partitions. Must be called once for each `revoke` event. Their stored offsets are committed as well.
    func release(_ partitions: [KafkaTopicPartition]) throws(KafkaError) {
        topicNames = [:]
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

    /// Waits up to `timeout` for the first event, then returns it with further available ones. Blocks; only one thread may call it
    /// at a time.
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
            // The events after a rebalance may depend on the answer to it.
            case .assign, .revoke, .error: return events
            }
        }
        return events
    }

    /// Makes a waiting `poll`, or the next one, return immediately.
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

    /// Stores the offsets at which reading continues. They are committed at intervals and when the partitions are released. Offsets
    /// of partitions that no longer belong to this member are ignored.
    func store(_ next: [(KafkaTopicPartition, Int64)]) throws(KafkaError) {
        let error = withList(next) { rd_kafka_offsets_store(handle.pointer, $0) }
        let isForeign = error == RD_KAFKA_RESP_ERR__STATE || error == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION
        if !isForeign { try check("store offsets", error) }
    }

    /// Commits the stored offsets, and waits for the broker. May block.
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

    /// The next offset to be read, for each partition of which a message was read.
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

    /// Queries the partition's leader. May block.
    func watermarks(_ partition: KafkaTopicPartition, timeout: Duration) throws(KafkaError) -> KafkaWatermarks {
        var low: Int64 = 0
        var high: Int64 = 0
        try check(
            "watermarks of \(partition)",
            rd_kafka_query_watermark_offsets(
                asking.pointer, partition.topic, partition.partition, &low, &high, timeout.nativeMilliseconds))
        return KafkaWatermarks(low: low, high: high)
    }

    /// The watermarks of the last fetch; `nil` before the first. Doesn't block.
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

    /// Leaves the group, commits the stored offsets, and ends the client. Blocks, and answers rebalances itself.
    func close(deadline: Duration) {
        if let shared {
            giveBack(to: shared)
            isClosed = true
            return shared.leave(queue)
        }
        awaitAssignment(until: ContinuousClock.now + Self.longestJoin)
        let end = ContinuousClock.now + deadline
        if let error = rd_kafka_consumer_close_queue(handle.pointer, queue) { rd_kafka_error_destroy(error) }
        while rd_kafka_consumer_closed(handle.pointer) == 0, ContinuousClock.now < end {
            guard let native = rd_kafka_queue_poll(queue, 50) else { continue }
            defer { rd_kafka_event_destroy(native) }
            guard rd_kafka_event_type(native) == RD_KAFKA_EVENT_REBALANCE else { continue }
            // Whatever the event is, the answer to it is an empty assignment.
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

    /// The longest time for which closing waits for a group's first assignment, whatever its deadline is. Brokers delay a new group's first
    /// one by 3 s (`group.initial.rebalance.delay.ms`), and members that are busy delay it by more.
    private static let longestJoin = Duration.seconds(20)

    /// Waits for the first assignment if this member has joined its group. librdkafka before 2.3 ends the process when a member leaves
    /// between the two (confluentinc/librdkafka#4312).
    private func awaitAssignment(until end: ContinuousClock.Instant) {
        while !wasAssigned, isMember, ContinuousClock.now < end {
            guard let native = rd_kafka_queue_poll(queue, 50) else { continue }
            defer { rd_kafka_event_destroy(native) }
            guard case .assign(let partitions) = event(native) else { continue }
            // Closing releases them. If this fails, so does the member's leaving, and the broker ends its membership later.
            do { try accept(partitions) } catch { return }
        }
    }

    /// Whether the group's coordinator has given this consumer a member id.
    private var isMember: Bool {
        guard let id = rd_kafka_memberid(handle.pointer) else { return false }
        defer { rd_kafka_mem_free(handle.pointer, id) }
        return id.pointee != 0
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
