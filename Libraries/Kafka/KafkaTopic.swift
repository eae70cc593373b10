/// The desired state of a topic, for its creation.
public struct KafkaTopic: Hashable, Sendable {
    /// The full name.
    public var name: String
    /// The number of partitions, at least 1.
    public var partitions: Int
    /// The number of replicas of each partition; `nil` is the broker's default.
    public var replicationFactor: Int?
    /// Broker settings of the topic, such as `cleanup.policy` and `retention.ms`.
    public var configuration: [String: String]

    /// Creates a description of a topic, without creating the topic in a broker.
    public init(name: String, partitions: Int, replicationFactor: Int? = nil, configuration: [String: String] = [:]) {
        self.name = name
        self.partitions = partitions
        self.replicationFactor = replicationFactor
        self.configuration = configuration
    }
}

/// A topic's metadata as the brokers report it.
public struct KafkaTopicMetadata: Hashable, Sendable {
    /// The full name.
    public let name: String
    /// The partitions, ascending.
    public let partitions: [Int32]
    /// Partitions that currently have no leader.
    public let leaderless: [Int32]
    /// The smallest number of replicas of a partition.
    public let copies: Int
}

/// The offsets between which a partition has messages.
public struct KafkaWatermarks: Hashable, Sendable {
    /// The offset of the oldest message that is still retained.
    public let low: Int64
    /// The offset that the next message will get.
    public let high: Int64

    /// Creates watermarks from the oldest kept and the next offset.
    public init(low: Int64, high: Int64) {
        self.low = low
        self.high = high
    }
}

/// The position at which reading a partition begins.
public enum KafkaOffset: Hashable, Sendable {
    /// At the oldest retained message.
    case beginning
    /// After the last message that the partition has when the broker resolves the position.
    case end
    /// At this offset; if it is no longer retained, according to `KafkaConsumerOptions.offsetReset`.
    case offset(Int64)
    /// At the group's committed offset; if there is none, according to `offsetReset`.
    case committed
}
