private import Crdkafka
import EventLoop

extension Duration {
    /// The duration in milliseconds, in librdkafka's type.
    var nativeMilliseconds: Int32 { Int32(clamping: wholeMilliseconds) }
}

/// Queries the brokers for metadata of topics.
enum RDKafkaMetadata {
    /// The names of the topics that the brokers have and this client may see. May block.
    /// - Throws: `unreachable` or `timedOut` when no broker answers.
    static func names(_ handle: RDKafkaHandle, timeout: Duration) throws(KafkaError) -> [String] {
        var result: UnsafePointer<rd_kafka_metadata>?
        let error = rd_kafka_metadata(handle.pointer, 1, nil, &result, timeout.nativeMilliseconds)
        guard error == RD_KAFKA_RESP_ERR_NO_ERROR, let result else {
            throw KafkaError(native: error.rawValue, context: "metadata of all topics")
        }
        defer { rd_kafka_metadata_destroy(result) }
        return UnsafeBufferPointer(start: result.pointee.topics, count: Int(result.pointee.topic_cnt))
            .filter { $0.err == RD_KAFKA_RESP_ERR_NO_ERROR && $0.partition_cnt > 0 }.map { String(cString: $0.topic) }
    }

    /// A topic's metadata. May block.
    /// - Throws: `unknownTopic` when it does not exist; `unreachable` or `timedOut` when no broker answers.
    static func fetch(_ handle: RDKafkaHandle, topic: String, timeout: Duration) throws(KafkaError)
        -> KafkaTopicMetadata
    {
        guard let reference = rd_kafka_topic_new(handle.pointer, topic, nil) else {
            throw KafkaError(native: rd_kafka_last_error().rawValue, context: "topic \(topic)")
        }
        defer { rd_kafka_topic_destroy(reference) }
        var result: UnsafePointer<rd_kafka_metadata>?
        let error = rd_kafka_metadata(handle.pointer, 0, reference, &result, timeout.nativeMilliseconds)
        guard error == RD_KAFKA_RESP_ERR_NO_ERROR, let result else {
            throw KafkaError(native: error.rawValue, context: "metadata of \(topic)")
        }
        defer { rd_kafka_metadata_destroy(result) }
        for found in UnsafeBufferPointer(start: result.pointee.topics, count: Int(result.pointee.topic_cnt))
        where String(cString: found.topic) == topic {
            guard found.err == RD_KAFKA_RESP_ERR_NO_ERROR else {
                throw KafkaError(native: found.err.rawValue, context: "metadata of \(topic)")
            }
            let partitions = UnsafeBufferPointer(start: found.partitions, count: Int(found.partition_cnt))
            return KafkaTopicMetadata(
                name: topic, partitions: partitions.map(\.id).sorted(),
                leaderless: partitions.filter { $0.leader < 0 }.map(\.id).sorted(),
                copies: partitions.map { Int($0.replica_cnt) }.min() ?? 0)
        }
        throw KafkaError(.unknownTopic, "metadata of \(topic): not among the answers", isRetriable: true)
    }
}
