import DocumentModel

/// What a relay has to do, as a value: which shards it leads, which partitions wait, which are under way, how far each has come.
///
/// A partition is under way once at a time, so that its events leave in the order of their revisions.
struct RelayState: Sendable {
    /// The lease of a shard that this relay leads.
    struct Lease: Sendable {
        var fence: Int64
        /// By this process's own clock, counted from before the lease was asked for.
        var validUntil: ContinuousClock.Instant
    }

    /// How far a partition is to be marked as published.
    struct Mark: Sendable {
        var partition: PartitionKey
        var shard: Int
        var fence: Int64
        var revision: Revision
    }

    let shards: Int
    private(set) var leases: [Int: Lease] = [:]
    private var waiting: Set<PartitionKey> = []
    private var underWay: Set<PartitionKey> = []
    /// Woken while it was under way.
    private var again: Set<PartitionKey> = []
    /// The last revision that the broker has, by partition; read from Postgres where it is missing.
    private var published: [PartitionKey: Revision] = [:]
    /// Partitions whose mark in Postgres is behind.
    private var unmarked: Set<PartitionKey> = []
    /// Partitions whose head is to be published.
    private var active: Set<PartitionKey> = []
    /// How many positions are remembered; beyond it those that are marked in Postgres are forgotten.
    private let remembered = 50_000

    init(shards: Int) { self.shards = shards }

    func leads(_ partition: PartitionKey, at now: ContinuousClock.Instant) -> Bool {
        leases[partition.shard(of: shards)].map { $0.validUntil > now } ?? false
    }

    /// Takes the leases that are held from now on, and forgets what belongs to others.
    /// - Returns: the shards that are new.
    mutating func take(_ held: [Int: Lease]) -> Set<Int> {
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

    /// Notes that partitions may have unpublished changes.
    /// - Returns: whether there is something to do.
    mutating func wake(_ partitions: some Sequence<PartitionKey>) -> Bool {
        for partition in partitions where leases[partition.shard(of: shards)] != nil {
            if underWay.contains(partition) { again.insert(partition) } else { waiting.insert(partition) }
        }
        return !waiting.isEmpty
    }

    /// Takes partitions to be published, with where each has come, if it is known.
    mutating func next(_ limit: Int, at now: ContinuousClock.Instant) -> [(partition: PartitionKey, after: Revision?)] {
        var taken: [(partition: PartitionKey, after: Revision?)] = []
        while taken.count < limit, let partition = waiting.popFirst() {
            guard leads(partition, at: now) else { continue }
            underWay.insert(partition)
            taken.append((partition, published[partition]))
        }
        return taken
    }

    /// Notes how far partitions that were taken have come.
    /// - Parameter unfinished: those that have more.
    mutating func finish(
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

    /// Takes the marks that have to be written to Postgres.
    mutating func takeMarks() -> [Mark] {
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
    mutating func giveBack(_ marks: [Mark]) {
        for mark in marks {
            if published[mark.partition] == nil { published[mark.partition] = mark.revision }
            unmarked.insert(mark.partition)
        }
    }

    /// Takes the partitions whose head is to be published.
    mutating func takeHeads() -> [(partition: PartitionKey, head: Revision)] {
        defer { active = [] }
        return active.compactMap { partition in published[partition].map { (partition, $0) } }
    }
}
