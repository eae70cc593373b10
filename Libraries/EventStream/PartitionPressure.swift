/// Decides when a member's Kafka partitions hold so much that reading has to stop, and which of them to pause. Pure.
///
/// Pausing discards the messages that the client fetched ahead and costs half a second, so reading only waits for a partition whose
/// handlers keep up. A partition that stays full is paused, so that the others can be read. If events can be deferred, those of
/// shares that exceed their budget are deferred first, and the partition is paused only if it still reaches twice the limit.
struct PartitionPressure {
    /// The events of a partition in this process: their numbers, and their size in bytes.
    struct Load: Equatable {
        /// In lanes: waiting or with a handler.
        var events = 0
        var bytes = 0
        /// Events that were read and are not below the committable offset yet: more than `events` when an early one is unfinished.
        var uncommitted = 0
    }

    /// How long reading waits for a full partition before the partition is paused.
    static let patience = Duration.seconds(1)

    let eventLimit: Int
    let byteLimit: Int
    let canSpill: Bool
    private(set) var paused: Set<Int32> = []
    /// The partitions whose events are deferred when their share exceeds its budget.
    private(set) var spilling: Set<Int32> = []
    private var fullSince: [Int32: ContinuousClock.Instant] = [:]

    /// - Parameter canSpill: whether events can be deferred.
    init(eventLimit: Int, byteLimit: Int, canSpill: Bool = false) {
        self.eventLimit = eventLimit
        self.byteLimit = byteLimit
        self.canSpill = canSpill
    }

    /// Must be called before each read.
    /// - Returns: which partitions to pause now, and whether reading has to wait for one that may be relieved soon.
    mutating func assess(
        _ loads: [Int32: Load], now: ContinuousClock.Instant
    ) -> (pause: [Int32], mustWait: Bool) {
        var pause: [Int32] = []
        var mustWait = false
        for (partition, load) in loads where !paused.contains(partition) {
            guard isFull(load, times: spilling.contains(partition) ? 2 : 1) else {
                fullSince[partition] = nil
                continue
            }
            let since = fullSince[partition, default: now]
            fullSince[partition] = since
            if now - since < Self.patience {
                mustWait = true
            } else if canSpill, spilling.insert(partition).inserted {
                fullSince[partition] = nil
            } else {
                pause.append(partition)
            }
        }
        paused.formUnion(pause)
        return (pause.sorted(), mustWait)
    }

    /// Must be called when a partition holds less than before.
    /// - Returns: whether reading waited for the partition and may go on, and whether to resume the partition.
    mutating func relieved(_ partition: Int32, _ load: Load) -> (wasFull: Bool, resume: Bool) {
        guard load.events <= eventLimit / 2, load.bytes <= byteLimit / 2, load.uncommitted <= 2 * eventLimit else {
            return (false, false)
        }
        spilling.remove(partition)
        return (fullSince.removeValue(forKey: partition) != nil, paused.remove(partition) != nil)
    }

    /// Forgets partitions that were revoked.
    /// - Returns: the partitions among them that were paused.
    mutating func forget(_ partitions: Set<Int32>) -> Set<Int32> {
        for partition in partitions { fullSince[partition] = nil }
        spilling.subtract(partitions)
        defer { paused.subtract(partitions) }
        return paused.intersection(partitions)
    }

    /// Returns whether further events of a share with this load have to be deferred.
    func isOverBudget(_ load: Load) -> Bool {
        !spilling.isEmpty && (load.events >= eventLimit / 4 || load.bytes >= byteLimit / 4)
    }

    /// Returns whether offsets have to advance before the event that holds them back is handled.
    func mustLetGo(_ load: Load) -> Bool { canSpill && load.uncommitted >= 2 * eventLimit }

    private func isFull(_ load: Load, times: Int) -> Bool {
        load.events >= times * eventLimit || load.bytes >= times * byteLimit || load.uncommitted >= 4 * eventLimit
    }
}
