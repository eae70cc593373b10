private import Crdkafka
import Logging

/// Creates and deletes topics. Every call blocks.
struct RDKafkaAdmin: Sendable {
    let handle: RDKafkaHandle

    /// - Returns: the errors by topic. That a topic already exists isn't an error.
    func create(_ topics: [KafkaTopic], timeout: Duration) throws(KafkaError) -> [String: KafkaError] {
        var natives: [OpaquePointer?] = []
        defer { for native in natives { rd_kafka_NewTopic_destroy(native) } }
        var text = [CChar](repeating: 0, count: 512)
        for topic in topics {
            guard
                let native = rd_kafka_NewTopic_new(
                    topic.name, Int32(clamping: topic.partitions), Int32(clamping: topic.replicationFactor ?? -1),
                    &text, text.count)
            else { throw KafkaError(.configuration, "topic \(topic.name): \(cString(text))") }
            natives.append(native)
            for (name, value) in topic.configuration { rd_kafka_NewTopic_set_config(native, name, value) }
        }
        let event = try request(RD_KAFKA_ADMIN_OP_CREATETOPICS, timeout: timeout, context: "create topics") {
            options, queue in
            rd_kafka_CreateTopics(handle.pointer, &natives, natives.count, options, queue)
        }
        defer { rd_kafka_event_destroy(event) }
        var count = 0
        let results = rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &count)
        return errors(results, count, except: RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS)
    }

    /// - Returns: the errors by topic. That a topic doesn't exist isn't an error.
    func delete(_ topics: [String], timeout: Duration) throws(KafkaError) -> [String: KafkaError] {
        var natives: [OpaquePointer?] = topics.map { rd_kafka_DeleteTopic_new($0) }
        defer { for native in natives { rd_kafka_DeleteTopic_destroy(native) } }
        let event = try request(RD_KAFKA_ADMIN_OP_DELETETOPICS, timeout: timeout, context: "delete topics") {
            options, queue in
            rd_kafka_DeleteTopics(handle.pointer, &natives, natives.count, options, queue)
        }
        defer { rd_kafka_event_destroy(event) }
        var count = 0
        let results = rd_kafka_DeleteTopics_result_topics(rd_kafka_event_DeleteTopics_result(event), &count)
        return errors(results, count, except: RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
    }

    func metadata(_ topic: String, timeout: Duration) throws(KafkaError) -> KafkaTopicMetadata {
        try RDKafkaMetadata.fetch(handle, topic: topic, timeout: timeout)
    }

    func topicNames(timeout: Duration) throws(KafkaError) -> [String] {
        try RDKafkaMetadata.names(handle, timeout: timeout)
    }

    /// The settings of topics; those that the user may not see are missing from the answer.
    func settings(of topics: [String], timeout: Duration) throws(KafkaError) -> [String: [String: String]] {
        var natives: [OpaquePointer?] = topics.map { rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, $0) }
        defer { for native in natives { rd_kafka_ConfigResource_destroy(native) } }
        let event = try request(RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS, timeout: timeout, context: "settings of topics") {
            options, queue in
            rd_kafka_DescribeConfigs(handle.pointer, &natives, natives.count, options, queue)
        }
        defer { rd_kafka_event_destroy(event) }
        var count = 0, settings: [String: [String: String]] = [:]
        let resources = rd_kafka_DescribeConfigs_result_resources(rd_kafka_event_DescribeConfigs_result(event), &count)
        for resource in UnsafeBufferPointer(start: resources, count: count)
        where rd_kafka_ConfigResource_error(resource) == RD_KAFKA_RESP_ERR_NO_ERROR {
            var size = 0
            let entries = rd_kafka_ConfigResource_configs(resource, &size)
            let name = String(cString: rd_kafka_ConfigResource_name(resource))
            for entry in UnsafeBufferPointer(start: entries, count: size) {
                guard let value = rd_kafka_ConfigEntry_value(entry) else { continue }
                settings[name, default: [:]][String(cString: rd_kafka_ConfigEntry_name(entry))] = String(cString: value)
            }
        }
        return settings
    }

    private func request(
        _ operation: rd_kafka_admin_op_t, timeout: Duration, context: String,
        _ send: (OpaquePointer?, OpaquePointer?) -> Void
    ) throws(KafkaError) -> OpaquePointer {
        let options = rd_kafka_AdminOptions_new(handle.pointer, operation)
        defer { rd_kafka_AdminOptions_destroy(options) }
        var text = [CChar](repeating: 0, count: 512)
        let milliseconds = timeout.nativeMilliseconds
        var errors = [rd_kafka_AdminOptions_set_request_timeout(options, milliseconds, &text, text.count)]
        // Only what changes something takes time after the answer.
        if operation != RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS {
            errors.append(rd_kafka_AdminOptions_set_operation_timeout(options, milliseconds, &text, text.count))
        }
        for error in errors where error != RD_KAFKA_RESP_ERR_NO_ERROR {
            throw KafkaError(.configuration, "\(context): \(cString(text))", nativeCode: error.rawValue)
        }
        let queue = rd_kafka_queue_new(handle.pointer)
        defer { rd_kafka_queue_destroy(queue) }
        send(options, queue)
        guard let event = rd_kafka_queue_poll(queue, Int32(clamping: Int64(milliseconds) + 5_000)) else {
            throw KafkaError(
                .timedOut, "\(context): no answer\(handle.cause.map { ": " + $0 } ?? "")", isRetriable: true)
        }
        let error = rd_kafka_event_error(event)
        guard error == RD_KAFKA_RESP_ERR_NO_ERROR else {
            var detail = rd_kafka_event_error_string(event).map { String(cString: $0) }
            let isAway = error == RD_KAFKA_RESP_ERR__TRANSPORT || error == RD_KAFKA_RESP_ERR__TIMED_OUT
            if isAway, let cause = handle.cause { detail = (detail.map { $0 + ": " } ?? "") + cause }
            rd_kafka_event_destroy(event)
            throw KafkaError(native: error.rawValue, context: context, detail: detail)
        }
        return event
    }

    private func errors(
        _ results: UnsafeMutablePointer<OpaquePointer?>?, _ count: Int, except expected: rd_kafka_resp_err_t
    ) -> [String: KafkaError] {
        var errors: [String: KafkaError] = [:]
        for result in UnsafeBufferPointer(start: results, count: count) {
            let error = rd_kafka_topic_result_error(result)
            guard error != RD_KAFKA_RESP_ERR_NO_ERROR, error != expected else { continue }
            let name = String(cString: rd_kafka_topic_result_name(result))
            let detail = rd_kafka_topic_result_error_string(result).map { String(cString: $0) }
            errors[name] = KafkaError(native: error.rawValue, context: name, detail: detail)
        }
        return errors
    }
}
