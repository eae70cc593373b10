import DocumentModel

/// A group member's state of its Kafka partitions: which are assigned, which of their events wait or run in lanes, which offsets
/// may be committed, and whether reading has to pause. Pure: it gets the time as a parameter, and does no IO.
struct ConsumerBook<Event> {
    typealias Lanes = EventLanes<Event>
    /// By Kafka partition, the offset to continue with after a restart.
    typealias Offsets = [Int32: Int64]

    /// The Kafka partitions that are assigned to this member.
    private(set) var owned: Set<Int32> = []
    private var lanes: Lanes
    private var trackers: [Int32: OffsetTracker] = [:]
    private var pressure: PartitionPressure
    /// The numbers of events that are with handlers, by Kafka partition.
    private var running: [Int32: Int] = [:]
    private let batchLimit: Int

    /// - Parameter canDefer: whether events can be deferred, to be read later from durable storage.
    init(_ options: EventConsumerOptions, canDefer: Bool) {
        lanes = Lanes(places: options.concurrency)
        pressure = PartitionPressure(
            eventLimit: options.pendingEvents, byteLimit: options.pendingBytes, canSpill: canDefer)
        batchLimit = options.batchLimit
    }

    // MARK: Partitions coming and going

    mutating func assign(_ partitions: some Sequence<Int32>) { owned.formUnion(partitions) }

    /// Removes revoked partitions. Their events that are with handlers stay in the book.
    /// - Returns: the paused ones, which must be resumed since a pause outlasts the assignment, and the events that waited.
    mutating func revoke(_ partitions: Set<Int32>) -> (resume: Set<Int32>, dropped: [Lanes.Entry]) {
        owned.subtract(partitions)
        return (pressure.forget(partitions), lanes.drop(partitions))
    }

    /// Forgets the offsets of revoked partitions. Call it when their handlers have ended.
    mutating func forget(_ partitions: Set<Int32>) {
        for partition in partitions { trackers[partition] = nil }
    }

    /// Whether handlers have events of these partitions, or of any.
    func isRunning(_ partitions: Set<Int32>? = nil) -> Bool {
        running.contains { $0.value > 0 && partitions?.contains($0.key) ?? true }
    }

    // MARK: Reading

    /// Adds a message that was read. The offsets of a partition must be in ascending order.
    mutating func begin(_ offset: Int64, of partition: Int32) {
        trackers[partition, default: OffsetTracker()].begin(offset)
    }

    /// Marks a message as finished without handling.
    mutating func leave(_ offset: Int64, of partition: Int32, _ offsets: inout Offsets) {
        if let next = trackers[partition]?.finish(offset) { offsets[partition] = next }
    }

    /// Puts an event in its lane.
    mutating func append(_ entry: Lanes.Entry, to lane: String, of share: String, member: String?) {
        lanes.append(entry, to: ExactText(lane), of: ExactText(share), member: member.map { ExactText($0) })
    }

    /// Whether a share holds so much that its further events have to be deferred.
    func isOverBudget(_ share: String) -> Bool {
        let load = lanes.shares[ExactText(share)] ?? .init()
        return pressure.isOverBudget(.init(events: load.events, bytes: load.bytes, uncommitted: 0))
    }

    /// Determines what to do before the next read: offsets that advance although earlier events aren't handled, partitions to
    /// pause, and whether reading has to wait for a partition that may be relieved soon.
    mutating func relieve(_ now: ContinuousClock.Instant) -> (offsets: Offsets, pause: [Int32], mustWait: Bool) {
        var offsets: Offsets = [:]
        for partition in owned where pressure.mustLetGo(load(partition)) {
            if let next = trackers[partition]?.letGo() { offsets[partition] = next }
        }
        let (pause, mustWait) = pressure.assess(
            Dictionary(uniqueKeysWithValues: owned.map { ($0, load($0)) }), now: now)
        return (offsets, pause, mustWait)
    }

    /// The number of messages that were read but can't be committed yet.
    var uncommitted: Int { trackers.values.reduce(0) { $0 + $1.count } }

    /// The same as ``uncommitted`` for one partition.
    func uncommitted(of partition: Int32) -> Int { trackers[partition]?.count ?? 0 }

    // MARK: Handling

    /// Takes the first events of the next ready lane. They count as being with a handler until ``ended(_:)``.
    mutating func take() -> Lanes.Work? {
        guard let work = lanes.take(limit: batchLimit) else { return nil }
        for entry in work.entries { running[entry.partition, default: 0] += 1 }
        return work
    }

    /// Marks events as handled.
    mutating func finish(_ work: Lanes.Work) -> (done: [Lanes.Entry], offsets: Offsets) {
        let done = lanes.finish(work.lane)
        var offsets: Offsets = [:]
        for entry in done {
            if let offset = entry.offset { leave(offset, of: entry.partition, &offsets) }
        }
        return (done, offsets)
    }

    /// Makes events that failed together be tried one by one.
    mutating func isolate(_ work: Lanes.Work) { lanes.isolate(work.lane) }

    /// Makes an event be tried again at the given time.
    mutating func postpone(_ work: Lanes.Work, until instant: ContinuousClock.Instant) {
        lanes.postpone(work.lane, until: instant)
    }

    /// Makes events ready whose next attempt is due.
    /// - Returns: when the next attempt is due.
    mutating func wake(_ now: ContinuousClock.Instant) -> ContinuousClock.Instant? { lanes.wake(now: now) }

    /// Records that a handler has ended, whether it has handled the events or not.
    /// - Returns: whether reading may continue because of it, and the partitions to resume.
    mutating func ended(_ work: Lanes.Work) -> (isRelieved: Bool, resume: [Int32]) {
        for entry in work.entries { running[entry.partition, default: 0] -= 1 }
        var answer: (isRelieved: Bool, resume: [Int32]) = (false, [])
        for partition in Set(work.entries.map(\.partition)) {
            let (wasFull, isPaused) = pressure.relieved(partition, load(partition))
            if wasFull { answer.isRelieved = true }
            if isPaused { answer.resume.append(partition) }
        }
        return answer
    }

    /// Removes all events, including those with handlers.
    /// - Returns: the removed events.
    mutating func removeAll() -> [Lanes.Entry] { lanes.removeAll() }

    private func load(_ partition: Int32) -> PartitionPressure.Load {
        let load = lanes.loads[partition] ?? .init()
        return .init(events: load.events, bytes: load.bytes, uncommitted: uncommitted(of: partition))
    }
}
