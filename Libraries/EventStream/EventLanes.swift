import DocumentModel
import EventLoop

/// Events that wait to be handled, in lanes: one after the other within a lane, and different lanes concurrently. Pure.
///
/// An event stays at the head of its lane until it is finished. A lane is ready, running (its first events are with a handler), or
/// waiting for its next attempt. The lanes of one share, for example an app's, don't keep those of others from running, nor do
/// those of one of its members, for example a user's.
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
        /// How often the first of them has already failed.
        var failures: Int
    }

    private enum State { case ready, running, waiting }

    private struct Lane {
        let share: ExactText
        let member: ExactText?
        var entries: [Entry] = []
        var head = 0
        var state = State.ready
        /// The number of events that are with a handler.
        var running = 0
        /// The number of events that are handled one by one, since they failed together.
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

    /// The number and size in bytes of the events of a Kafka partition or share that wait or run.
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
    /// By Kafka partition, the load of events from the topic. Injected events don't count: their source bounds them.
    private(set) var loads: [Int32: Load] = [:]
    /// By share, the load of all its events, injected ones included.
    private(set) var shares: [ExactText: Load] = [:]

    /// - Parameter places: the maximum number of lanes that run at the same time.
    init(places: Int) {
        self.places = places
        ready = FairShares(places: places)
    }

    /// The number of events in lanes, running ones included.
    var count: Int { shares.values.reduce(0) { $0 + $1.events } }

    /// Appends an event to a lane.
    /// - Parameters:
    ///   - share: the share that the lane belongs to; must always be the same for a lane.
    ///   - member: the member of the share that the lane belongs to; must always be the same for a lane.
    mutating func append(_ entry: Entry, to lane: ExactText, of share: ExactText, member: ExactText? = nil) {
        if entry.offset != nil { loads[entry.partition, default: Load()].add(1, entry.bytes) }
        shares[share, default: Load()].add(1, entry.bytes)
        if lanes[lane] == nil {
            lanes[lane] = Lane(share: share, member: member)
            ready.append((lane, member), of: share, member: member)
        }
        lanes[lane]?.entries.append(entry)
    }

    /// Takes at most `limit` first events of the next ready lane, which then runs; `nil` when no lane may run.
    mutating func take(limit: Int) -> Work? {
        while let (share, (name, member)) = ready.next() {
            // A lane that was dropped and created again is queued twice.
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

    /// Removes the running events of a lane, which are finished.
    /// - Returns: the removed events.
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

    /// Makes a lane ready again whose running events failed together: each is then tried alone, without a delay.
    mutating func isolate(_ name: ExactText) {
        guard var lane = takeRunning(name) else { return }
        lane.single = lane.running
        lane.running = 0
        lane.state = .ready
        lanes[name] = lane
        ready.append((name, lane.member), of: lane.share, member: lane.member)
    }

    /// Makes a lane wait whose running event failed: it is tried again at `instant`.
    mutating func postpone(_ name: ExactText, until instant: ContinuousClock.Instant) {
        guard var lane = takeRunning(name) else { return }
        // Its batch may grow again only after this event has succeeded.
        lane.single = max(lane.single, 1)
        lane.failures += 1
        lane.running = 0
        lane.state = .waiting
        lanes[name] = lane
        waiting[name] = instant
    }

    /// Makes the waiting lanes ready whose next attempt is due.
    /// - Returns: when the next attempt of the remaining lanes is due; `nil` when none waits.
    mutating func wake(now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        for (name, instant) in waiting where instant <= now {
            waiting[name] = nil
            guard let lane = lanes[name] else { continue }
            lanes[name]?.state = .ready
            ready.append((name, lane.member), of: lane.share, member: lane.member)
        }
        return waiting.values.min()
    }

    /// Removes the waiting events of these Kafka partitions; running ones stay until they are finished.
    /// - Returns: the removed events.
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

    /// Removes all events, running ones included.
    /// - Returns: the removed events.
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
