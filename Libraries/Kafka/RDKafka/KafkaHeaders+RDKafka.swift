private import Crdkafka
import Glibc

extension KafkaHeaders {
    /// Copies the headers of a `rd_kafka_message_t`.
    init(message: UnsafeRawPointer) {
        self.init()
        var list: OpaquePointer?
        let message = message.assumingMemoryBound(to: rd_kafka_message_t.self)
        guard rd_kafka_message_headers(message, &list) == RD_KAFKA_RESP_ERR_NO_ERROR, let list else { return }
        var index = 0
        var name: UnsafePointer<CChar>?
        var value: UnsafeRawPointer?
        var size = 0
        while rd_kafka_header_get_all(list, index, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR {
            index += 1
            guard let name else { continue }
            append(
                name: UnsafeRawBufferPointer(start: name, count: strlen(name)),
                value: value.map { UnsafeRawBufferPointer(start: $0, count: size) })
        }
    }
}
