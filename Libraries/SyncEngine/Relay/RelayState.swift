public import DocumentModel

/// The state of a relay as a value: the shards that it leads, the partitions that wait or are in flight, and how far each is
/// published.
///
/// A partition is in flight only once at a time, so that its events are sent in the order of their revisions. A mark in Postgres
/// follows the broker's acknowledgement: what isn't marked when a relay ends, the next one sends again.
public struct RelayState: Sendable {
    /// The lease of a shard that this relay leads.
    public struct Lease: Sendable {
        /// Identifies this holding of the lease: another one has a higher number.
        public var fence: Int64
        /// By this process's own clock, counted from before the lease was requested.
        public var validUntil: ContinuousClock.Instant

        public init(fence: Int64, validUntil: ContinuousClock.Instant) {
            self.fence = fence
            self.validUntil = validUntil
        }
    }

    /// The revision up to which a partition has to be marked as published.
    public struct Mark: Sendable {
        public var partition: PartitionKey
        public var shard: Int
        /// The lease by which the relay leads the shard: the mark is written only if it still does.
        public var fence: Int64
        public var revision: Revision
    }

    let shards: Int
    /// The leases that this relay holds, by shard.
    public private(set) var leases: [Int: Lease] = [:]
    private var waiting: Set<PartitionKey> = []
    private var underWay: Set<PartitionKey> = []
    /// The partitions that were woken while they were in flight.
    private var again: Set<PartitionKey> = []
    /// The last revision that the broker has acknowledged, by partition; if it is missing, it is read from Postgres.
    private var published: [PartitionKey: Revision] = [:]
    /// The partitions whose mark in Postgres is behind.
    private var unmarked: Set<PartitionKey> = []
    /// The partitions whose head has to be published.
    private var active: Set<PartitionKey> = []
    /// The maximum number of positions that are remembered; beyond it, those that are marked in Postgres are dropped.
    private let remembered = 50_000

    /// - Parameter shards: The number of shards that partitions are divided into.
    public init(shards: Int) { self.shards = shards }

    /// Whether this relay may publish changes of the partition.
    public func leads(_ partition: PartitionKey, at now: ContinuousClock.Instant) -> Bool {
        leases[partition.shard(of: shards)].map { $0.validUntil > now } ?? false
    }

    /// Takes over the leases that are held from now on, and drops the state of shards that aren't.
    /// - Returns: the shards that were gained.
    public mutating func take(_ held: [Int: Lease]) -> Set<Int> {
        let gained = Set(held.keys.filter { leases[$0]?.fence != held[$0]?.fence })
        let kept = leases.keys.filter { held[$0]?.fence == leases[$0]?.fence }
        leases = held
        let stays = { [shards] (partition: PartitionKey) in kept.contains(partition.shard(of: shards)) }
        published = published.filter { stays($0.key) }
        unmarked = unmarked.filter(stays)
        waiting = waiting.filter { held[$0.shard(of: shards)] != nil }
        active = active.filter(stays)
        return gained
    }

    /// Records that partitions may have unpublished changes.
    /// - Returns: whether there are partitions to publish.
    public mutating func wake(_ partitions: some Sequence<PartitionKey>) -> Bool {
        for partition in partitions where leases[partition.shard(of: shards)] != nil {
            if underWay.contains(partition) { again.insert(partition) } else { waiting.insert(partition) }
        }
        return !waiting.isEmpty
    }

    /// Takes partitions to publish, with the revision up to which each is published, if that is known.
    public mutating func next(_ limit: Int, at now: ContinuousClock.Instant) -> [(
        partition: PartitionKey, after: Revision?
    )] {
        var taken: [(partition: PartitionKey, after: Revision?)] = []
        while taken.count < limit, let partition = waiting.popFirst() {
            guard leads(partition, at: now) else { continue }
            underWay.insert(partition)
            taken.append((partition, published[partition]))
        }
        return taken
    }

    /// Records how far partitions that were taken are published.
    /// - Parameter unfinished: the partitions that have more changes.
    public mutating func finish(
        _ partitions: [PartitionKey], published positions: [PartitionKey: Revision],
        unfinished: Set<PartitionKey>
    ) -> Bool {
        for partition in partitions {
            underWay.remove(partition)
            let isLed = leases[partition.shard(of: shards)] != nil
            if isLed, let position = positions[partition] {
                published[partition] = position
                unmarked.insert(partition)
                active.insert(partition)
            }
            let isWoken = again.remove(partition) != nil
            if isLed, isWoken || unfinished.contains(partition) { waiting.insert(partition) }
        }
        return !waiting.isEmpty
    }

    /// How far partitions are published by a batch of messages: each up to the first message that the broker hasn't acknowledged.
    ///
    /// - Parameters:
    ///   - batch: The partition and revision of each message, as they were sent.
    ///   - isAcknowledged: Whether the broker has acknowledged the message at this index.
    public static func positions(
        of batch: [(partition: PartitionKey, revision: Revision)], isAcknowledged: (Int) -> Bool
    ) -> [PartitionKey: Revision] {
        var positions: [PartitionKey: Revision] = [:]
        var stopped: Set<PartitionKey> = []
        for (index, message) in batch.enumerated() {
            if !isAcknowledged(index) { stopped.insert(message.partition) }
            if !stopped.contains(message.partition) { positions[message.partition] = message.revision }
        }
        return positions
    }

    /// Takes the marks that have to be written to Postgres.
    public mutating func takeMarks() -> [Mark] {
        let marks = unmarked.compactMap { partition -> Mark? in
            let shard = partition.shard(of: shards)
            guard let revision = published[partition], let lease = leases[shard] else { return nil }
            return Mark(partition: partition, shard: shard, fence: lease.fence, revision: revision)
        }
        unmarked = []
        if published.count > remembered { published = published.filter { underWay.contains($0.key) } }
        return marks
    }

    /// Returns marks that could not be written, so that they are taken again.
    public mutating func giveBack(_ marks: [Mark]) {
        for mark in marks {
            if published[mark.partition] == nil { published[mark.partition] = mark.revision }
            unmarked.insert(mark.partition)
        }
    }

    /// Takes the partitions whose head has to be published.
    public mutating func takeHeads() -> [(partition: PartitionKey, head: Revision)] {
        defer { active = [] }
        return active.compactMap { partition in published[partition].map { (partition, $0) } }
    }
}
