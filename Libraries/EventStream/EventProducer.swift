import EventTopics
import Kafka

/// Sends events of a pool's topics. It shares a `KafkaProducer`, which its owner closes.
public struct EventProducer: Sendable {
    private let producer: KafkaProducer
    /// The pool whose topics it writes.
    public let pool: String

    /// Describes it.
    public init(_ producer: KafkaProducer, pool: String) {
        self.producer = producer
        self.pool = pool
    }

    /// Sends one event, and returns when the broker has it.
    /// - Parameters:
    ///   - partition: overrides the key's choice: for what every partition must get.
    ///   - traceparent: the trace that it continues.
    /// - Throws: `KafkaError`; the event may have arrived nevertheless, so its readers see the same id twice.
    @discardableResult
    public func send<Payload: EventPayload>(
        _ payload: Payload, partition: Int32? = nil, traceparent: String? = nil
    ) async throws(KafkaError) -> KafkaDelivery {
        let delivery = try await producer.send(record(payload, partition: partition, traceparent: traceparent))
        EventStreamMetrics.produced[Payload.topic.name].increment()
        return delivery
    }

    /// Sends events, in this order per key, and waits once for all.
    /// - Parameter partition: overrides the key's choice of an event.
    /// - Returns: what became of each; `requireAll()` on it throws if one failed.
    public func send<Payload: EventPayload>(
        _ payloads: [Payload], partition: (Payload) -> Int32? = { _ in nil }
    ) async throws(KafkaError) -> KafkaBatchOutcome {
        let outcome = try await producer.sendBatch(payloads.map { record($0, partition: partition($0)) })
        EventStreamMetrics.produced[Payload.topic.name].increment(by: payloads.count - outcome.failures.count)
        return outcome
    }

    /// Removes a key from a compacted topic.
    public func remove<Payload: EventPayload>(key: String, from topic: Topic<Payload>) async throws(KafkaError) {
        try await producer.send(KafkaRecord(topic: topic.fullName(pool: pool), key: Array(key.utf8), value: nil))
    }

    /// The message of an event, for who sends it otherwise.
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
