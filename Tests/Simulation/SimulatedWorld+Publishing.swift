import DocumentModel
import SyncEngine

/// What relays and permissions publish.
extension SimulatedWorld {
    static let key = PartitionKey(app: "simulated", partition: SimulatedServer.partition)
    private static let origin = ContinuousClock.now

    private var now: ContinuousClock.Instant { Self.origin + .milliseconds(time - Self.startTime) }

    // MARK: Relays

    /// Lets a relay do one thing.
    /// - Returns: Whether there was anything.
    mutating func advance(relay place: Int, withFaults: Bool) -> Bool {
        if relays[place].isStopped { return false }
        var relay = relays[place]
        defer { relays[place] = relay }
        let isLeading = relay.state.leads(Self.key, at: now)
        let isDue = isLeading ? relays.count > 1 && Int.random(in: 0..<4, using: &generator) == 0 : true
        if isDue { renew(&relay) }
        var choices: [Int] = []
        if let round = relay.round { choices.append(round.isSent ? 2 : 1) } else { choices.append(0) }
        if !relay.marks.isEmpty { choices.append(3) }
        if withFaults, Int.random(in: 0..<8, using: &generator) == 0 { choices.append(4) }
        switch choices.randomElement(using: &generator) {
        case 0: return read(&relay) || !relay.marks.isEmpty
        case 1: send(&relay, withFaults: withFaults)
        case 2: finish(&relay)
        case 3: mark(&relay)
        default:
            let count = topic.count
            topic += relay.state.takeHeads().map { .head($0.head) }
            return topic.count > count
        }
        return true
    }

    private mutating func renew(_ relay: inout SimulatedRelay) {
        guard let fence = relayLease.acquire(by: relay.holder, for: relayLeaseTime, now: time) else {
            return _ = relay.state.take([:])
        }
        let held = RelayState.Lease(fence: fence, validUntil: now + .milliseconds(relayLeaseTime) * 0.8)
        if !relay.state.take([0: held]).isEmpty {
            if isTraced { trace.append("relay \(relay.holder) leads") }
            happened(.relayLeads)
        }
    }

    /// - Returns: Whether there was anything to publish.
    private mutating func read(_ relay: inout SimulatedRelay) -> Bool {
        if server.hasUnpublished { _ = relay.state.wake([Self.key]) }
        let taken = relay.state.next(1, at: now)
        guard let first = taken.first else { return false }
        let limit = Int.random(in: 1...5, using: &generator)
        let rows = Array(server.rows(after: first.after, limit: limit))
        relay.round = .init(
            partitions: taken.map(\.partition), rows: rows, isSent: rows.isEmpty, isUnfinished: rows.count == limit)
        return !rows.isEmpty
    }

    private mutating func send(_ relay: inout SimulatedRelay, withFaults: Bool) {
        guard var round = relay.round else { return }
        // The broker may have stored what it doesn't acknowledge.
        let isRefusing = withFaults && Int.random(in: 0..<10, using: &generator) == 0
        let refused = isRefusing ? Int.random(in: round.rows.indices, using: &generator) : nil
        let isRefusedStored = Bool.random(using: &generator)
        let revisions = round.rows.map(\.change.revision)
        for (index, row) in round.rows.enumerated() where index != refused || isRefusedStored {
            if !published.insert(revisions[index]).inserted { happened(.publishedAgain) }
            topic.append(row.isLarge ? .large(revisions[index]) : .change(row.change, continues: row.continues))
        }
        if isTraced {
            let refusal = refused.map { ", not acknowledged: \(revisions[$0])" } ?? ""
            trace.append("relay \(relay.holder) publishes \(revisions)\(refusal)")
        }
        round.positions = RelayState.positions(of: revisions.map { (Self.key, $0) }) { $0 != refused }
        if refused != nil { round.isUnfinished = true }
        round.isSent = true
        relay.round = round
    }

    private mutating func finish(_ relay: inout SimulatedRelay) {
        guard let round = relay.round else { return }
        relay.round = nil
        _ = relay.state.finish(
            round.partitions, published: round.positions, unfinished: Set(round.isUnfinished ? round.partitions : []))
        if relay.marks.isEmpty { relay.marks = relay.state.takeMarks() }
    }

    private mutating func mark(_ relay: inout SimulatedRelay) {
        for mark in relay.marks {
            if relayLease.holder == relay.holder, relayLease.fence == mark.fence {
                server.mark(mark.revision)
            } else {
                happened(.markRefused)
            }
        }
        relay.marks = relay.state.takeMarks()
    }

    mutating func publishHeads(_ place: Int) { topic += relays[place].state.takeHeads().map { .head($0.head) } }

    /// A relay ends, or stands still for a while.
    mutating func disturb(relay place: Int) {
        switch Int.random(in: 0..<3, using: &generator) {
        case 0:
            let round = relays[place].round
            if round?.isSent == true || !relays[place].marks.isEmpty { happened(.relayLost) }
            if isTraced { trace.append("relay \(relays[place].holder) ends") }
            relayCount += 1
            relays[place] = SimulatedRelay(holder: relayCount)
        default: relays[place].isStopped.toggle()
        }
    }

    // MARK: Permissions

    /// Lets the permissions service do one thing.
    /// - Returns: Whether there was anything.
    mutating func advancePermissions(withFaults: Bool) -> Bool {
        let process = Int.random(in: 0..<SimulatedPermissions.processes, using: &generator)
        var choices: [Int] = []
        if permissions.isBusy(process) { choices += [0, 0] }
        let isSlow = withFaults && Int.random(in: 0..<4, using: &generator) > 0
        if !permissions.questions.isEmpty {
            if !isSlow { choices.append(1) }
            // What a process publishes late now comes to those who wait for an answer.
            if Int.random(in: 0..<8, using: &generator) == 0 { permissions.continueAll() }
        }
        if permissions.hasOpenFences { choices.append(2) }
        let isDue = withFaults || gateways.contains { !$0.isValid(at: time) }
        if isDue, scenario.watchesLeases || !withFaults { choices.append(3) }
        guard let choice = choices.randomElement(using: &generator) else { return false }
        switch choice {
        case 0: permissions.publish(by: process, now: time, gateways: registry)
        case 1: permissions.answerQuestion(by: process, now: time)
        case 2:
            let receipts = permissions.writeReceipts(now: time)
            if receipts.written > 0 {
                happened(.receipt)
                for link in links.compactMap(\.self) { checkSeal(of: link) }
            }
            if receipts.lapsed > 0 { happened(.lapsed) }
            return receipts.written > 0
        default: permissions.sendHeartbeats(now: time)
        }
        return true
    }
}
