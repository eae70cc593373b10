import EventLoop

/// How a consumer reads.
public struct KafkaConsumerOptions: Sendable {
    /// Where to begin when the wanted offset is not there: never committed, or no longer kept.
    public enum OffsetReset: String, Sendable { case earliest, latest }

    /// - `group` (string, optional, default: none): The consumer group; needed by `subscribe` and for committed offsets.
    public var group: String?
    /// - `instanceID` (string, optional, default: none): A name that survives restarts, so that one within the session timeout
    ///   moves no partitions (static membership).
    public var instanceID: String?
    /// - `offsetReset` (string, optional, default: "earliest"): Where to begin without a valid offset.
    public var offsetReset: OffsetReset
    /// - `sessionTimeout` (duration, optional, default: 6 s): After this long without a heartbeat a member's partitions are given
    ///   to others. The embedded broker needs more than 3 s.
    public var sessionTimeout: Duration
    /// - `commitInterval` (duration, optional, default: 1 s): How often stored offsets are committed.
    public var commitInterval: Duration
    /// - `batchLimit` (int, optional, default: 1000): Messages that `next` gives at once at most.
    public var batchLimit: Int
    /// - `batchBytes` (int, optional, default: 4194304): Bytes beyond which `next` adds no more messages.
    public var batchBytes: Int
    /// - `prefetchBytes` (int, optional, default: 16777216): Bytes that the client fetches ahead at most.
    public var prefetchBytes: Int
    /// - `reportsEnds` (bool, optional, default: false): Whether `KafkaBatch.ends` is filled.
    public var reportsEnds: Bool

    /// The defaults, or what is given.
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
            // librdkafka wants a group even for partitions that are assigned by hand; nothing is committed to this one.
            "group.id": group ?? "\(configuration.clientID).ungrouped",
            "partition.assignment.strategy": "cooperative-sticky",
            "auto.offset.reset": offsetReset.rawValue,
            // Offsets are stored when an event's effect is, and committed from there.
            "enable.auto.offset.store": "false",
            "enable.auto.commit": group == nil ? "false" : "true",
            "auto.commit.interval.ms": "\(commitInterval.wholeMilliseconds)",
            "session.timeout.ms": "\(sessionTimeout.wholeMilliseconds)",
            "heartbeat.interval.ms": "\(heartbeat)",
            // A commit that was on its way to a broker that died is waited for before partitions are taken again; librdkafka would
            // wait for a minute. After the session's end the coordinator refuses it anyway.
            "socket.timeout.ms": "\(max(3_000, sessionTimeout.wholeMilliseconds))",
            "queued.max.messages.kbytes": "\(max(1, prefetchBytes >> 10))",
            "fetch.wait.max.ms": "\(fetchWait)",
            "enable.partition.eof": reportsEnds ? "true" : "false",
        ]
        if let instanceID { settings["group.instance.id"] = instanceID }
        return configuration.settings(settings)
    }

    /// For how many milliseconds a broker may let the client wait that has nothing to read; it ends the wait when something comes. The
    /// embedded one is made to, but not after more than a second (`ahead_ms` in CEmbeddedBroker). The report of a partition's end waits
    /// as long, and a partition that the group adds.
    private var fetchWait: Int { reportsEnds ? 500 : 900 }
}
