/// One partition of one topic.
public struct KafkaTopicPartition: Hashable, Sendable, CustomStringConvertible {
    /// The topic's full name.
    public var topic: String
    /// The partition's number in the topic, from 0.
    public var partition: Int32

    /// Creates a reference to a partition, which isn't checked to exist.
    public init(topic: String, partition: Int32) {
        self.topic = topic
        self.partition = partition
    }

    public var description: String { "\(topic)[\(partition)]" }
}

/// A message to be sent.
public struct KafkaRecord: Sendable {
    /// The topic's full name.
    public var topic: String
    /// The partition; `nil` lets the key decide (murmur2, as Kafka's own clients do; at random without a key).
    public var partition: Int32?
    /// The key: messages with the same key are in one partition, and so in order.
    public var key: [UInt8]?
    /// The contents; `nil` is a tombstone, which removes the key from a compacted topic.
    public var value: [UInt8]?
    /// Headers, in order.
    public var headers: KafkaHeaders
    /// Milliseconds since 1970; `nil` for now.
    public var timestamp: Int64?

    /// Creates a message to be sent with a `KafkaProducer`.
    public init(
        topic: String, partition: Int32? = nil, key: [UInt8]? = nil, value: [UInt8]?,
        headers: KafkaHeaders = KafkaHeaders(), timestamp: Int64? = nil
    ) {
        self.topic = topic
        self.partition = partition
        self.key = key
        self.value = value
        self.headers = headers
        self.timestamp = timestamp
    }

    /// The size of key and contents in bytes.
    public var size: Int { (key?.count ?? 0) + (value?.count ?? 0) }
}

/// The partition and offset of an acknowledged message.
public struct KafkaDelivery: Hashable, Sendable {
    /// The partition that the message is in.
    public let partition: Int32
    /// Its offset there.
    public let offset: Int64
}

/// The outcome of each message of a batch, in the order in which they were given.
public struct KafkaBatchOutcome: Sendable {
    /// A message that was not acknowledged.
    public struct Failure: Sendable {
        /// The message's index in the batch.
        public let index: Int
        /// Why the message was not acknowledged.
        public let error: KafkaError
    }

    /// By message, its partition and offset; `nil` for one that failed.
    public internal(set) var deliveries: [KafkaDelivery?]
    /// The messages that failed, in no particular order.
    public internal(set) var failures: [Failure] = []

    /// - Throws: the error of the first message that failed, if any did.
    public func requireAll() throws(KafkaError) {
        if let first = failures.min(by: { $0.index < $1.index }) { throw first.error }
    }
}

/// A message that was read from a topic.
public struct KafkaMessage: Sendable {
    /// The partition that it was read from.
    public let topicPartition: KafkaTopicPartition
    /// Its offset.
    public let offset: Int64
    /// When it was sent or stored, depending on the topic's configuration, in milliseconds since 1970; -1 when unknown.
    public let timestamp: Int64
    /// Its key.
    public let key: [UInt8]?
    /// Its contents; `nil` for a tombstone.
    public let value: [UInt8]?
    /// Its headers.
    public let headers: KafkaHeaders

    /// The topic's full name.
    public var topic: String { topicPartition.topic }
    /// The partition in the topic.
    public var partition: Int32 { topicPartition.partition }

    /// Creates a message that was not received from a broker, for tests and repairs.
    public init(
        topicPartition: KafkaTopicPartition, offset: Int64, timestamp: Int64 = -1, key: [UInt8]?, value: [UInt8]?,
        headers: KafkaHeaders = KafkaHeaders()
    ) {
        self.topicPartition = topicPartition
        self.offset = offset
        self.timestamp = timestamp
        self.key = key
        self.value = value
        self.headers = headers
    }
}
