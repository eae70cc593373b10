import EventLoop

/// How a producer sends.
public struct KafkaProducerOptions: Sendable {
    /// - `linger` (duration, optional, default: 0 ms, range: 0-900 s): How long a message may wait for others to share a request.
    ///   At 0 what is sent while a request is under way still shares the next one.
    public var linger: Duration
    /// - `queueLimit` (int, optional, default: 100000, range: 1-10000000): Messages on their way at most; beyond it `send` waits.
    public var queueLimit: Int
    /// - `queueBytes` (int, optional, default: 67108864): Bytes on their way at most, in kibibytes' steps; beyond it `send` waits.
    public var queueBytes: Int
    /// - `messageBytes` (int, optional, default: 1000000): The largest message that is taken.
    public var messageBytes: Int
    /// - `deliveryTimeout` (duration, optional, default: 60 s): After it an unacknowledged message fails with `timedOut`.
    public var deliveryTimeout: Duration
    /// - `compression` (string, optional, default: "lz4"): `none`, `lz4`, `zstd`, `snappy` or `gzip`.
    public var compression: String

    /// The defaults, or what is given.
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
            // Kafka's own clients place keys so, and the placement is part of the topics' contract.
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
