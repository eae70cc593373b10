import DocumentModel

/// What a member of a group holds of its Kafka partitions: which are its own, what of them waits or runs in lanes, up to where their
/// offsets may be committed, and whether reading has to pause. Pure: the time is given to it, and it does no IO.
struct ConsumerBook<Event> {
    typealias Lanes = EventLanes<Event>
    /// By Kafka partition, the offset to go on with after a restart.
    typealias Offsets = [Int32: Int64]

    /// The Kafka partitions that are this member's.
    private(set) var owned: Set<Int32> = []
    private var lanes: Lanes
    private var trackers: [Int32: OffsetTracker] = [:]
    private var pressure: PartitionPressure
    /// Events that are with handlers.
    private var running: [Int32: Int] = [:]
    private let batchLimit: Int

    /// - Parameter canDefer: Whether events can be left to be read later from elsewhere.
    init(_ options: EventConsumerOptions, canDefer: Bool) {
        lanes = Lanes(places: options.concurrency)
        pressure = PartitionPressure(
            eventLimit: options.pendingEvents, byteLimit: options.pendingBytes, canSpill: canDefer)
        batchLimit = options.batchLimit
    }

    // MARK: Partitions coming and going

    mutating func assign(_ partitions: some Sequence<Int32>) { owned.formUnion(partitions) }

    /// Gives partitions up. What of them is with handlers stays in the book until ``forget(_:)``.
    /// - Returns: the paused ones, since a pause would outlast the assignment, and what waited.
    mutating func revoke(_ partitions: Set<Int32>) -> (resume: Set<Int32>, dropped: [Lanes.Entry]) {
        owned.subtract(partitions)
        return (pressure.forget(partitions), lanes.drop(partitions))
    }

    /// Forgets the offsets of partitions that were given up, when their handlers have ended.
    mutating func forget(_ partitions: Set<Int32>) {
        for partition in partitions { trackers[partition] = nil }
    }

    /// Whether handlers have events of these partitions, or of any.
    func isRunning(_ partitions: Set<Int32>? = nil) -> Bool {
        running.contains { $0.value > 0 && partitions?.contains($0.key) ?? true }
    }

    // MARK: Reading

    /// Notes a message that was read. Offsets of a partition come in ascending order.
    mutating func begin(_ offset: Int64, of partition: Int32) {
        trackers[partition, default: OffsetTracker()].begin(offset)
    }

    /// Notes that a message needs no handling here.
    mutating func leave(_ offset: Int64, of partition: Int32, _ offsets: inout Offsets) {
        if let next = trackers[partition]?.finish(offset) { offsets[partition] = next }
    }

    /// Puts an event in its lane.
    mutating func append(_ entry: Lanes.Entry, to lane: String, of share: String, member: String?) {
        lanes.append(entry, to: ExactText(lane), of: ExactText(share), member: member.map { ExactText($0) })
    }

    /// Whether a share holds so much that its events are to be left for later.
    func isOverBudget(_ share: String) -> Bool {
        let load = lanes.shares[ExactText(share)] ?? .init()
        return pressure.isOverBudget(.init(events: load.events, bytes: load.bytes, uncommitted: 0))
    }

    /// What to do before reading on: offsets that go on although something before them isn't handled, partitions to pause, and
    /// whether reading has to wait for one that may be relieved soon.
    mutating func relieve(_ now: ContinuousClock.Instant) -> (offsets: Offsets, pause: [Int32], mustWait: Bool) {
        var offsets: Offsets = [:]
        for partition in owned where pressure.mustLetGo(load(partition)) {
            if let next = trackers[partition]?.letGo() { offsets[partition] = next }
        }
        let (pause, mustWait) = pressure.assess(
            Dictionary(uniqueKeysWithValues: owned.map { ($0, load($0)) }), now: now)
        return (offsets, pause, mustWait)
    }

    /// How many messages were read that can't be committed yet.
    var uncommitted: Int { trackers.values.reduce(0) { $0 + $1.count } }

    /// As ``uncommitted``, of one partition.
    func uncommitted(of partition: Int32) -> Int { trackers[partition]?.count ?? 0 }

    // MARK: Handling

    /// The first events of the next lane that is ready; they are with a handler then, until ``ended(_:)``.
    mutating func take() -> Lanes.Work? {
        guard let work = lanes.take(limit: batchLimit) else { return nil }
        for entry in work.entries { running[entry.partition, default: 0] += 1 }
        return work
    }

    /// Notes that events are handled.
    mutating func finish(_ work: Lanes.Work) -> (done: [Lanes.Entry], offsets: Offsets) {
        let done = lanes.finish(work.lane)
        var offsets: Offsets = [:]
        for entry in done {
            if let offset = entry.offset { leave(offset, of: entry.partition, &offsets) }
        }
        return (done, offsets)
    }

    /// Has events tried alone that failed together.
    mutating func isolate(_ work: Lanes.Work) { lanes.isolate(work.lane) }

    /// Has an event tried again at a time.
    mutating func postpone(_ work: Lanes.Work, until instant: ContinuousClock.Instant) {
        lanes.postpone(work.lane, until: instant)
    }

    /// Makes events ready that are due again.
    /// - Returns: when the next ones are.
    mutating func wake(_ now: ContinuousClock.Instant) -> ContinuousClock.Instant? { lanes.wake(now: now) }

    /// Notes that a handler has given events back, handled or not.
    /// - Returns: whether reading may go on because of it, and partitions to resume.
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

    /// Forgets all events, also those with handlers.
    /// - Returns: them.
    mutating func removeAll() -> [Lanes.Entry] { lanes.removeAll() }

    private func load(_ partition: Int32) -> PartitionPressure.Load {
        let load = lanes.loads[partition] ?? .init()
        return .init(events: load.events, bytes: load.bytes, uncommitted: uncommitted(of: partition))
    }
}
