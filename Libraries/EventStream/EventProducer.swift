import EventTopics
import Kafka

/// Sends events of a pool's topics. It shares a `KafkaProducer`, which its owner closes.
public struct EventProducer: Sendable {
    private let producer: KafkaProducer
    /// The pool whose topics it writes.
    public let pool: String

    /// Creates a producer for the topics of `pool` on top of a producer that its owner closes.
    public init(_ producer: KafkaProducer, pool: String) {
        self.producer = producer
        self.pool = pool
    }

    /// Sends one event, and returns when the broker has acknowledged it.
    /// - Parameters:
    ///   - partition: the partition to send to instead of the one that the key selects, for events that every partition must receive.
    ///   - traceparent: the trace that the event continues.
    /// - Throws: `KafkaError`. The event may have been stored nevertheless; its readers may then see the same id twice.
    @discardableResult
    public func send<Payload: EventPayload>(
        _ payload: Payload, partition: Int32? = nil, traceparent: String? = nil
    ) async throws(KafkaError) -> KafkaDelivery {
        let delivery = try await producer.send(record(payload, partition: partition, traceparent: traceparent))
        EventStreamMetrics.produced[Payload.topic.name].increment()
        return delivery
    }

    /// Sends an event, or another one in its place if it is too large for a message. An event that may be large needs one: what is sent again
    /// until the broker takes it would block what comes after it.
    public func send<Payload: EventPayload>(
        _ payload: Payload, orIfTooLarge smaller: @autoclosure () -> Payload
    ) async throws(KafkaError) {
        do {
            try await send(payload)
        } catch  where error.code == .messageTooLarge {
            try await send(smaller())
        }
    }

    /// Sends events, in this order per key, and returns when the outcome of all of them is known.
    /// - Parameter partition: returns the partition to send an event to; `nil` for the one that its key selects.
    /// - Returns: the outcome of each event; `requireAll()` on it throws if one failed.
    public func send<Payload: EventPayload>(
        _ payloads: [Payload], partition: (Payload) -> Int32? = { _ in nil }
    ) async throws(KafkaError) -> KafkaBatchOutcome {
        try await send(payloads.map { record($0, partition: partition($0)) }, of: Payload.topic)
    }

    /// Sends messages of one topic that ``record(_:partition:traceparent:)`` encoded, as ``send(_:partition:)`` does.
    public func send<Payload: EventPayload>(
        _ records: [KafkaRecord], of topic: Topic<Payload>
    ) async throws(KafkaError) -> KafkaBatchOutcome {
        let outcome = try await producer.sendBatch(records)
        EventStreamMetrics.produced[topic.name].increment(by: records.count - outcome.failures.count)
        return outcome
    }

    /// Removes a key from a compacted topic, by sending a message without a value.
    public func remove<Payload: EventPayload>(key: String, from topic: Topic<Payload>) async throws(KafkaError) {
        try await producer.send(KafkaRecord(topic: topic.fullName(pool: pool), key: Array(key.utf8), value: nil))
    }

    /// Encodes an event as a message, for callers that send it by other means.
    public func record<Payload: EventPayload>(
        _ payload: Payload, partition: Int32? = nil, traceparent: String? = nil
    ) -> KafkaRecord {
        let encoded = EventEnvelope.encode(payload, traceparent: traceparent)
        var headers = KafkaHeaders()
        for header in encoded.headers { headers.append(header.name, header.value) }
        return KafkaRecord(
            topic: Payload.topic.fullName(pool: pool), partition: partition, key: Array(encoded.key.utf8),
            value: encoded.value, headers: headers)
    }
}
