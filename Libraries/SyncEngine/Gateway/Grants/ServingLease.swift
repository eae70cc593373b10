/// Until when a gateway may serve by its grants, as a value: the gateway needs heartbeats from every Kafka partition of the grants,
/// and its place in the registry.
///
/// A gateway that has read a heartbeat has read every revocation before it. A heartbeat counts from when it was sent, but takes effect
/// only after the revocations in front of it are carried out.
///
/// Deadlines are on a steady clock of the gateway.
public struct ServingLease: Sendable {
    private struct Source {
        /// The deadline that applies.
        var deadline: Duration = .zero
        /// The newest deadline that was read.
        var latest: Duration = .zero
        /// Deadlines that were read behind revocations which aren't carried out yet, each with the number of the last of them.
        var waiting: [(fence: Int, deadline: Duration)] = []
        /// The number of the last revocation that was read; the first is 1.
        var lastFence = 0
        /// The numbers of those that aren't carried out, and one that is at most the smallest of them.
        var openFences: Set<Int> = []
        var oldestFence = 1

        /// A deadline was read behind all revocations so far.
        mutating func read(_ deadline: Duration) {
            latest = max(latest, deadline)
            if waiting.last?.fence == lastFence { waiting.removeLast() }
            waiting.append((lastFence, latest))
            apply()
        }

        /// Applies deadlines once all revocations before them are carried out.
        mutating func apply() {
            while oldestFence <= lastFence, !openFences.contains(oldestFence) { oldestFence += 1 }
            let count = waiting.prefix { $0.fence < oldestFence }.count
            if count > 0 { self.deadline = waiting[count - 1].deadline }
            waiting.removeFirst(count)
        }
    }

    private var sources: [Int32: Source] = [:]
    private var sourceCount: Int?
    private var registered: Duration = .zero
    private var isEnded = false

    /// A lease of which nothing was heard yet.
    public init() {}

    /// The earliest deadline of all sources and the registration; zero while one is missing.
    public var deadline: Duration {
        guard !isEnded, let sourceCount, sources.count >= sourceCount else { return .zero }
        return sources.values.reduce(registered) { min($0, $1.deadline) }
    }

    /// Ends the lease permanently, because the gateway stops.
    public mutating func end() { isEnded = true }

    /// Sets the topic's number of partitions: a heartbeat is needed from each.
    public mutating func follow(partitions: Int) { sourceCount = partitions }

    /// Records until when the gateway may serve by its registration.
    public mutating func registered(until deadline: Duration) { registered = deadline }

    /// Extends the lease with a heartbeat that was read.
    ///
    /// - Parameters:
    ///   - partition: The Kafka partition that it came from.
    ///   - sentAt: When it was sent, in milliseconds since 1970, by the sender's clock.
    ///   - validFor: For how many milliseconds it is valid.
    ///   - now: The steady clock. It is read before `wallTime`, so that the time between the two makes the lease shorter.
    ///   - wallTime: The gateway's clock, in milliseconds since 1970.
    public mutating func renew(partition: Int32, sentAt: Int64, validFor: Int64, now: Duration, wallTime: Int64) {
        let age = max(wallTime - sentAt, 0)
        var source = sources[partition] ?? Source()
        // One that was on its way while the broker stood still says nothing about what was committed meanwhile: what has lapsed goes on
        // with one that is new.
        if source.latest <= now, age > validFor / 2 { return }
        source.read(now + .milliseconds(validFor) - .milliseconds(age))
        sources[partition] = source
    }

    /// Records that a revocation was read and isn't carried out yet: heartbeats behind it don't count until then, however many others come.
    /// - Returns: the number of the revocation in the Kafka partition.
    public mutating func fenceBegan(on partition: Int32) -> Int {
        var source = sources[partition] ?? Source()
        source.lastFence += 1
        source.openFences.insert(source.lastFence)
        sources[partition] = source
        return source.lastFence
    }

    /// Records that a revocation is carried out.
    /// - Parameter fence: Its number.
    public mutating func fenceEnded(_ fence: Int, on partition: Int32) {
        guard var source = sources[partition] else { return }
        source.openFences.remove(fence)
        source.apply()
        sources[partition] = source
    }
}
