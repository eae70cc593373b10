/// The desired state of a topic, as its owner creates it.
public struct KafkaTopic: Hashable, Sendable {
    /// The full name.
    public var name: String
    /// The number of partitions, at least 1.
    public var partitions: Int
    /// Copies of each partition; `nil` takes the broker's default.
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
    /// The number of replicas of the partition that has the fewest.
    public let copies: Int
}

/// The offsets between which a partition has messages.
public struct KafkaWatermarks: Hashable, Sendable {
    /// The offset of the oldest message that is still kept.
    public let low: Int64
    /// The offset that the next message will get.
    public let high: Int64

    /// Creates watermarks from the oldest kept and the next offset.
    public init(low: Int64, high: Int64) {
        self.low = low
        self.high = high
    }
}

/// Where reading a partition begins.
public enum KafkaOffset: Hashable, Sendable {
    /// With the oldest message that is kept.
    case beginning
    /// With the next message that is stored after the broker has been asked.
    case end
    /// With this offset; where it is not kept any more, as `KafkaConsumerOptions.offsetReset` says.
    case offset(Int64)
    /// Where the group's committed offset says, or as `offsetReset` says when there is none.
    case committed
}
