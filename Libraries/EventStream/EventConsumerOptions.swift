public import EventLoop

/// Settings of an `EventConsumer`.
public struct EventConsumerOptions: Sendable {
    /// - `concurrency` (int, optional, default: 16, range: 1-1000): The number of lanes that are handled concurrently.
    public var concurrency: Int
    /// - `batchLimit` (int, optional, default: 100): The maximum number of events that a handler receives at once.
    public var batchLimit: Int
    /// - `pendingEvents` (int, optional, default: 2000): The maximum number of waiting events per Kafka partition in this process.
    ///   Beyond it the partition is paused until half of them are done; for `document-changes`, changes of apps that hold at least
    ///   a quarter are deferred first.
    public var pendingEvents: Int
    /// - `pendingBytes` (int, optional, default: 8388608): The same in bytes.
    public var pendingBytes: Int
    /// The waits between attempts at a failed event.
    public var retries: RetrySchedule
    /// - `drainTimeout` (duration, optional, default: 15 s): How long handlers may take to finish at a shutdown, and when
    ///   partitions are revoked.
    public var drainTimeout: Duration
    /// - `sessionTimeout` (duration, optional, default: 6 s): After this long without a heartbeat, the partitions are assigned to
    ///   other members.
    public var sessionTimeout: Duration
    /// - `instanceID` (string, optional, default: none): A name that survives restarts (static membership).
    public var instanceID: String?

    /// Creates options with the given values, and the defaults for the others.
    public init(
        concurrency: Int = 16, batchLimit: Int = 100, pendingEvents: Int = 2000, pendingBytes: Int = 8 << 20,
        retries: RetrySchedule = RetrySchedule(), drainTimeout: Duration = .seconds(15),
        sessionTimeout: Duration = .seconds(6), instanceID: String? = nil
    ) {
        self.concurrency = concurrency
        self.batchLimit = batchLimit
        self.pendingEvents = pendingEvents
        self.pendingBytes = pendingBytes
        self.retries = retries
        self.drainTimeout = drainTimeout
        self.sessionTimeout = sessionTimeout
        self.instanceID = instanceID
    }
}
