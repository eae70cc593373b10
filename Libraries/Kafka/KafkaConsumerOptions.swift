import EventLoop

/// How a consumer reads.
public struct KafkaConsumerOptions: Sendable {
    /// Where to begin when the requested offset doesn't exist: it was never committed, or is no longer retained.
    public enum OffsetReset: String, Sendable { case earliest, latest }

    /// - `group` (string, optional, default: none): The consumer group; needed by `subscribe` and for committed offsets.
    public var group: String?
    /// - `instanceID` (string, optional, default: none): A name that survives restarts, so that a restart within the session
    ///   timeout doesn't move partitions (static membership).
    public var instanceID: String?
    /// - `offsetReset` (string, optional, default: "earliest"): Where to begin without a valid offset.
    public var offsetReset: OffsetReset
    /// - `sessionTimeout` (duration, optional, default: 6 s): After this long without a heartbeat, a member's partitions are
    ///   assigned to others. The embedded broker needs more than 3 s.
    public var sessionTimeout: Duration
    /// - `commitInterval` (duration, optional, default: 1 s): How often stored offsets are committed.
    public var commitInterval: Duration
    /// - `batchLimit` (int, optional, default: 1000): The maximum number of messages that `next` returns at once.
    public var batchLimit: Int
    /// - `batchBytes` (int, optional, default: 4194304): The size in bytes beyond which `next` adds no more messages.
    public var batchBytes: Int
    /// - `prefetchBytes` (int, optional, default: 16777216): The maximum number of bytes that the client fetches ahead.
    public var prefetchBytes: Int
    /// - `reportsEnds` (bool, optional, default: false): Whether `KafkaBatch.ends` is filled.
    public var reportsEnds: Bool

    /// Creates options with the given values, and the defaults for the others.
    public init(
        group: String? = nil, instanceID: String? = nil, offsetReset: OffsetReset = .earliest,
        sessionTimeout: Duration = .seconds(6), commitInterval: Duration = .seconds(1), batchLimit: Int = 1000,
        batchBytes: Int = 4 << 20, prefetchBytes: Int = 16 << 20, reportsEnds: Bool = false
    ) {
        self.group = group
        self.instanceID = instanceID
        self.offsetReset = offsetReset
        self.sessionTimeout = sessionTimeout
        self.commitInterval = commitInterval
        self.batchLimit = batchLimit
        self.batchBytes = batchBytes
        self.prefetchBytes = prefetchBytes
        self.reportsEnds = reportsEnds
    }

    package func settings(for configuration: KafkaConfiguration) -> [String: String] {
        let heartbeat = max(100, min(3_000, sessionTimeout.wholeMilliseconds / 4))
        var settings = [
            // librdkafka requires a group even for partitions that are assigned manually; nothing is committed to this one.
            "group.id": group ?? "\(configuration.clientID).ungrouped",
            "partition.assignment.strategy": "cooperative-sticky",
            "auto.offset.reset": offsetReset.rawValue,
            // Offsets are stored explicitly after an event's effect, and committed from there.
            "enable.auto.offset.store": "false",
            "enable.auto.commit": group == nil ? "false" : "true",
            "auto.commit.interval.ms": "\(commitInterval.wholeMilliseconds)",
            "session.timeout.ms": "\(sessionTimeout.wholeMilliseconds)",
            "heartbeat.interval.ms": "\(heartbeat)",
            // If a broker dies with a commit in flight, librdkafka waits for the commit before it takes partitions again, by
            // default for a minute. After the session's end the coordinator refuses the commit anyway.
            "socket.timeout.ms": "\(max(3_000, sessionTimeout.wholeMilliseconds))",
            "queued.max.messages.kbytes": "\(max(1, prefetchBytes >> 10))",
            "fetch.wait.max.ms": "\(fetchWait)",
            "enable.partition.eof": reportsEnds ? "true" : "false",
        ]
        if let instanceID { settings["group.instance.id"] = instanceID }
        return configuration.settings(settings)
    }

    /// How many milliseconds a broker may delay the answer to a fetch while there are no messages; it answers when one arrives. The
    /// embedded broker is patched to do so, but only for waits of at most a second (`ahead_ms` in CEmbeddedBroker). The report of a
    /// partition's end is delayed by up to this time, and so is the first fetch of a partition that the group adds.
    private var fetchWait: Int { reportsEnds ? 500 : 900 }
}
