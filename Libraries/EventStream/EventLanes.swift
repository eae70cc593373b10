import DocumentModel
import EventLoop

/// Events that wait for their handling, in lanes: one after the other within a lane, lanes beside each other. Pure.
///
/// An event stays at the head of its lane until it is finished. A lane rests, is ready, runs (its first events are with a handler),
/// or waits for its next attempt. The lanes of one share, an app's for example, don't keep those of others from running, nor do
/// those of one of its members, a user's for example.
struct EventLanes<Event> {
    struct Entry {
        var event: Event
        /// The Kafka partition whose share of memory it takes.
        var partition: Int32
        /// `nil` for an event that was not read from the topic.
        var offset: Int64?
        var bytes: Int
    }

    /// The first events of a lane, to be handled now.
    struct Work {
        var lane: ExactText
        var entries: [Entry]
        /// How often the first of them failed already.
        var failures: Int
    }

    private enum State { case ready, running, waiting }

    private struct Lane {
        let share: ExactText
        let member: ExactText?
        var entries: [Entry] = []
        var head = 0
        var state = State.ready
        /// With a handler.
        var running = 0
        /// So many are handled one by one, since they failed together.
        var single = 0
        var failures = 0

        var count: Int { entries.count - head }

        mutating func removeFirst(_ number: Int) -> [Entry] {
            let removed = Array(entries[head..<head + number])
            head += number
            if head == entries.count {
                entries.removeAll(keepingCapacity: true)
                head = 0
            } else if head > 64, head * 2 > entries.count {
                entries.removeFirst(head)
                head = 0
            }
            return removed
        }
    }

    /// What is waiting or running of a Kafka partition, or of a share.
    struct Load: Equatable {
        var events = 0
        var bytes = 0

        mutating func add(_ events: Int, _ bytes: Int) {
            self.events += events
            self.bytes += bytes
        }
    }

    private let places: Int
    private var lanes: [ExactText: Lane] = [:]
    private var ready: FairShares<ExactText, (lane: ExactText, member: ExactText?)>
    private var waiting: [ExactText: ContinuousClock.Instant] = [:]
    /// What the topic brought; what was injected is bounded by who injects.
    private(set) var loads: [Int32: Load] = [:]
    /// Everything.
    private(set) var shares: [ExactText: Load] = [:]

    /// - Parameter places: how many lanes run at the same time.
    init(places: Int) {
        self.places = places
        ready = FairShares(places: places)
    }

    /// Events that are in lanes, running ones included.
    var count: Int { shares.values.reduce(0) { $0 + $1.events } }

    /// - Parameters:
    ///   - share: always the same one for a lane.
    ///   - member: of the share, whose lane it is; always the same one for a lane.
    mutating func append(_ entry: Entry, to lane: ExactText, of share: ExactText, member: ExactText? = nil) {
        if entry.offset != nil { loads[entry.partition, default: Load()].add(1, entry.bytes) }
        shares[share, default: Load()].add(1, entry.bytes)
        if lanes[lane] == nil {
            lanes[lane] = Lane(share: share, member: member)
            ready.append((lane, member), of: share, member: member)
        }
        lanes[lane]?.entries.append(entry)
    }

    /// The next lane's first events, at most `limit`; the lane runs then.
    mutating func take(limit: Int) -> Work? {
        while let (share, (name, member)) = ready.next() {
            // A lane that was dropped and began anew stands here twice.
            guard var lane = lanes[name], lane.state == .ready else {
                ready.release(share, member: member)
                continue
            }
            lanes[name] = nil  // so that the copy below is the only one, and changes in place
            let number = lane.single > 0 ? 1 : min(limit, lane.count)
            lane.state = .running
            lane.running = number
            let work = Work(
                lane: name, entries: Array(lane.entries[lane.head..<lane.head + number]), failures: lane.failures)
            lanes[name] = lane
            return work
        }
        return nil
    }

    /// The running events of a lane are done.
    /// - Returns: them.
    mutating func finish(_ name: ExactText) -> [Entry] {
        guard var lane = takeRunning(name) else { return [] }
        let done = lane.removeFirst(lane.running)
        for entry in done { unload(entry, of: lane.share) }
        lane.single = max(0, lane.single - done.count)
        lane.failures = 0
        lane.running = 0
        if lane.count > 0 {
            lane.state = .ready
            lanes[name] = lane
            ready.append((name, lane.member), of: lane.share, member: lane.member)
        }
        return done
    }

    /// The running events of a lane failed together: each is tried alone, at once.
    mutating func isolate(_ name: ExactText) {
        guard var lane = takeRunning(name) else { return }
        lane.single = lane.running
        lane.running = 0
        lane.state = .ready
        lanes[name] = lane
        ready.append((name, lane.member), of: lane.share, member: lane.member)
    }

    /// The running event of a lane failed: it is tried again at that time.
    mutating func postpone(_ name: ExactText, until instant: ContinuousClock.Instant) {
        guard var lane = takeRunning(name) else { return }
        // Its batch may grow again only after it has passed.
        lane.single = max(lane.single, 1)
        lane.failures += 1
        lane.running = 0
        lane.state = .waiting
        lanes[name] = lane
        waiting[name] = instant
    }

    /// Makes lanes ready whose time has come.
    /// - Returns: when the next one's comes.
    mutating func wake(now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        for (name, instant) in waiting where instant <= now {
            waiting[name] = nil
            guard let lane = lanes[name] else { continue }
            lanes[name]?.state = .ready
            ready.append((name, lane.member), of: lane.share, member: lane.member)
        }
        return waiting.values.min()
    }

    /// Forgets what waits of these Kafka partitions; what runs stays until it is finished.
    /// - Returns: what was forgotten.
    mutating func drop(_ partitions: Set<Int32>) -> [Entry] {
        func isGone(_ entry: Entry) -> Bool { partitions.contains(entry.partition) }
        var dropped: [Entry] = []
        for (name, var lane) in lanes {
            let running = lane.head + lane.running
            let gone = lane.entries[running...].filter(isGone)
            guard !gone.isEmpty else { continue }
            dropped += gone
            for entry in gone { unload(entry, of: lane.share) }
            lane.entries =
                lane.entries[lane.head..<running]
                + lane.entries[running...].filter { !isGone($0) }
            lane.head = 0
            lane.single = lane.running
            if lane.running == 0 { lane.failures = 0 }
            lanes[name] = lane.entries.isEmpty ? nil : lane
            if lane.entries.isEmpty { waiting[name] = nil }
        }
        return dropped
    }

    /// Forgets everything, also what runs.
    /// - Returns: what was forgotten.
    mutating func removeAll() -> [Entry] {
        defer { self = EventLanes(places: places) }
        return lanes.values.flatMap { $0.entries[$0.head...] }
    }

    private mutating func takeRunning(_ name: ExactText) -> Lane? {
        guard let lane = lanes[name], lane.state == .running else { return nil }
        lanes[name] = nil
        ready.release(lane.share, member: lane.member)
        return lane
    }

    private mutating func unload(_ entry: Entry, of share: ExactText) {
        shares[share]?.add(-1, -entry.bytes)
        if shares[share]?.events == 0 { shares[share] = nil }
        guard entry.offset != nil else { return }
        loads[entry.partition]?.add(-1, -entry.bytes)
        if loads[entry.partition]?.events == 0 { loads[entry.partition] = nil }
    }
}

extension EventLanes.Entry: Sendable where Event: Sendable {}
extension EventLanes.Work: Sendable where Event: Sendable {}
