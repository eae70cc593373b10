import EventLoop

/// How a producer sends.
public struct KafkaProducerOptions: Sendable {
    /// - `linger` (duration, optional, default: 0 ms, range: 0-900 s): How long a message may wait for others to share a request.
    ///   With 0, messages that are sent while a request is in flight still share the next one.
    public var linger: Duration
    /// - `queueLimit` (int, optional, default: 100000, range: 1-10000000): The maximum number of messages in flight; beyond it
    ///   `send` waits.
    public var queueLimit: Int
    /// - `queueBytes` (int, optional, default: 67108864): The maximum number of bytes in flight, in steps of a kibibyte; beyond it
    ///   `send` waits.
    public var queueBytes: Int
    /// - `messageBytes` (int, optional, default: 1000000): The size of the largest accepted message, in bytes.
    public var messageBytes: Int
    /// - `deliveryTimeout` (duration, optional, default: 60 s): The time after which an unacknowledged message fails with
    ///   `timedOut`.
    public var deliveryTimeout: Duration
    /// - `compression` (string, optional, default: "lz4"): `none`, `lz4`, `zstd`, `snappy` or `gzip`.
    public var compression: String

    /// Creates options with the given values, and the defaults for the others.
    public init(
        linger: Duration = .zero, queueLimit: Int = 100_000, queueBytes: Int = 64 << 20, messageBytes: Int = 1_000_000,
        deliveryTimeout: Duration = .seconds(60), compression: String = "lz4"
    ) {
        self.linger = linger
        self.queueLimit = queueLimit
        self.queueBytes = queueBytes
        self.messageBytes = messageBytes
        self.deliveryTimeout = deliveryTimeout
        self.compression = compression
    }

    var settings: [String: String] {
        [
            "enable.idempotence": "true",
            "acks": "all",
            // The partitioner of Kafka's own clients; the placement of keys is part of the topics' contract.
            "partitioner": "murmur2_random",
            "linger.ms": "\(linger.wholeMilliseconds)",
            "queue.buffering.max.messages": "\(queueLimit)",
            "queue.buffering.max.kbytes": "\(max(1, queueBytes >> 10))",
            "message.max.bytes": "\(messageBytes)",
            "message.timeout.ms": "\(deliveryTimeout.wholeMilliseconds)",
            "compression.codec": compression,
        ]
    }
}
