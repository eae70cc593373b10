private import Crdkafka
private import Cuv
import EventLoop
import Glibc
import Logging

/// A producer of librdkafka, and the descriptor that signals its events. Confined to its owner's loop.
final class RDKafkaProducer {
    enum Refusal {
        /// The maximum number of messages is in flight; the next delivery reports make space.
        case queueFull
        case error(KafkaError)
    }

    enum Event {
        case delivered(tag: UInt, KafkaDelivery)
        case failed(tag: UInt, KafkaError)
        case fatal(KafkaError)
        case error(KafkaError)
    }

    private let handle: RDKafkaHandle
    private let queue: OpaquePointer
    private let descriptor: Int32
    private var watcher: FDWatcher?
    private var topics: [String: OpaquePointer] = [:]

    /// - Parameter onEvents: called on the loop when `drain` has events.
    init(settings: [String: String], loop: EventLoop, logger: Logger, onEvents: @escaping () -> Void) throws(KafkaError)
    {
        handle = try RDKafkaHandle(
            .producer, settings: settings, events: RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_ERROR, logger: logger)
        guard let queue = rd_kafka_queue_get_main(handle.pointer) else {
            throw KafkaError(.configuration, "librdkafka has no main queue")
        }
        self.queue = queue
        descriptor = cuv_eventfd()
        guard descriptor >= 0 else {
            rd_kafka_queue_destroy(queue)
            throw KafkaError(.configuration, "eventfd: \(String(cString: strerror(errno)))")
        }
        // An eventfd takes writes of exactly eight bytes.
        var one: UInt64 = 1
        rd_kafka_queue_io_event_enable(queue, descriptor, &one, MemoryLayout<UInt64>.size)
        do {
            let watcher = try FDWatcher(loop, fd: descriptor) { _ in onEvents() }
            watcher.set(.read)
            self.watcher = watcher
        } catch {
            rd_kafka_queue_io_event_enable(queue, -1, nil, 0)
            rd_kafka_queue_destroy(queue)
            Glibc.close(descriptor)
            throw KafkaError(.configuration, "watching the producer's events: \(error)")
        }
    }

    /// Enqueues a message, which librdkafka copies.
    /// - Parameter tag: returned with the message's delivery report.
    func produce(_ record: KafkaRecord, tag: UInt) -> Refusal? {
        guard let topic = topic(record.topic) else {
            return .error(KafkaError(native: rd_kafka_last_error().rawValue, context: "topic \(record.topic)"))
        }
        let headers = record.headers.isEmpty ? nil : nativeHeaders(record.headers)
        let error = withUnsafeTemporaryAllocation(of: rd_kafka_vu_t.self, capacity: 8) { arguments -> OpaquePointer? in
            record.value.withBytes { value in
                record.key.withBytes { key in
                    var count = 0
                    func add(_ type: rd_kafka_vtype_t, _ set: (inout rd_kafka_vu_t) -> Void) {
                        var argument = rd_kafka_vu_t()
                        argument.vtype = type
                        set(&argument)
                        arguments.initializeElement(at: count, to: argument)
                        count += 1
                    }
                    add(RD_KAFKA_VTYPE_RKT) { $0.u.rkt = topic }
                    add(RD_KAFKA_VTYPE_MSGFLAGS) { $0.u.i = RD_KAFKA_MSG_F_COPY }
                    add(RD_KAFKA_VTYPE_OPAQUE) { $0.u.ptr = UnsafeMutableRawPointer(bitPattern: tag) }
                    if let value {
                        add(RD_KAFKA_VTYPE_VALUE) {
                            $0.u.mem.ptr = UnsafeMutableRawPointer(mutating: value.baseAddress)
                            $0.u.mem.size = value.count
                        }
                    }
                    if let key {
                        add(RD_KAFKA_VTYPE_KEY) {
                            $0.u.mem.ptr = UnsafeMutableRawPointer(mutating: key.baseAddress)
                            $0.u.mem.size = key.count
                        }
                    }
                    if let partition = record.partition { add(RD_KAFKA_VTYPE_PARTITION) { $0.u.i32 = partition } }
                    if let timestamp = record.timestamp { add(RD_KAFKA_VTYPE_TIMESTAMP) { $0.u.i64 = timestamp } }
                    if let headers { add(RD_KAFKA_VTYPE_HEADERS) { $0.u.headers = headers } }
                    return rd_kafka_produceva(handle.pointer, arguments.baseAddress, count)
                }
            }
        }
        guard let error else { return nil }
        if let headers { rd_kafka_headers_destroy(headers) }  // taken over only on success
        let isFull = rd_kafka_error_code(error) == RD_KAFKA_RESP_ERR__QUEUE_FULL
        let refusal = KafkaError(consuming: error, context: "produce to \(record.topic)")
        return isFull ? .queueFull : .error(refusal)
    }

    /// Passes all available events to `body`, oldest first.
    func drain(_ body: (Event) -> Void) {
        cuv_eventfd_read(descriptor)
        while let event = rd_kafka_queue_poll(queue, 0) {
            defer { rd_kafka_event_destroy(event) }
            switch rd_kafka_event_type(event) {
            case RD_KAFKA_EVENT_DR:
                while let message = rd_kafka_event_message_next(event) {
                    let tag = UInt(bitPattern: message.pointee._private)
                    if message.pointee.err == RD_KAFKA_RESP_ERR_NO_ERROR {
                        body(
                            .delivered(
                                tag: tag,
                                KafkaDelivery(partition: message.pointee.partition, offset: message.pointee.offset)))
                    } else {
                        let topic = String(cString: rd_kafka_topic_name(message.pointee.rkt))
                        let error = KafkaError(native: message.pointee.err.rawValue, context: "delivery to \(topic)")
                        body(.failed(tag: tag, error))
                    }
                }
            case RD_KAFKA_EVENT_ERROR:
                let detail = rd_kafka_event_error_string(event).map { String(cString: $0) }
                let native = rd_kafka_event_error(event)
                if rd_kafka_event_error_is_fatal(event) != 0 || native == RD_KAFKA_RESP_ERR__FATAL {
                    body(
                        .fatal(
                            KafkaError(
                                native: RD_KAFKA_RESP_ERR__FATAL.rawValue, context: "producer", detail: detail,
                                isFatal: true)))
                } else {
                    body(.error(KafkaError(native: native.rawValue, context: "producer", detail: detail)))
                }
            default: break
            }
        }
    }

    /// Raises a fatal error as a broker's answer could, for tests of the rebuilding.
    func raiseFatalError() {
        rd_kafka_test_fatal_error(handle.pointer, RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, "raised by a test")
    }

    /// Discards the messages in flight and returns the handle, which must be destroyed where blocking is allowed. Must be called
    /// only once.
    func retire() -> RDKafkaHandle {
        rd_kafka_queue_io_event_enable(queue, -1, nil, 0)
        watcher?.close()
        watcher = nil
        Glibc.close(descriptor)
        rd_kafka_purge(
            handle.pointer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT | RD_KAFKA_PURGE_F_NON_BLOCKING)
        for topic in topics.values { rd_kafka_topic_destroy(topic) }
        topics.removeAll()
        rd_kafka_queue_destroy(queue)
        return handle
    }

    private func topic(_ name: String) -> OpaquePointer? {
        if let known = topics[name] { return known }
        let made = rd_kafka_topic_new(handle.pointer, name, nil)
        topics[name] = made
        return made
    }

    private func nativeHeaders(_ headers: KafkaHeaders) -> OpaquePointer? {
        let native = rd_kafka_headers_new(headers.count)
        headers.forEachRaw { name, value in
            rd_kafka_header_add(
                native, name.bindMemory(to: CChar.self).baseAddress, name.count, value?.baseAddress, value?.count ?? -1)
        }
        return native
    }
}

extension [UInt8]? {
    fileprivate func withBytes<R>(_ body: (UnsafeRawBufferPointer?) -> R) -> R {
        guard let self else { return body(nil) }
        return self.withUnsafeBytes { body($0) }
    }
}
