import DocumentModel
import SyncEngine

/// What happens in gateways.
extension SimulatedWorld {
    /// Changes a connection, and does what its session asks for.
    mutating func change<Result>(_ index: Int, _ body: (SimulatedLink) -> Result) -> Result? {
        guard let link = links[index] else { return nil }
        renewIfDue(link)
        let sent = link.sentDownloads
        let result = body(link)
        carryOut(link)
        if link.sentDownloads > sent, let version = link.grantVersion,
            permissions.hasEnded(version, at: time - SimulatedPermissions.clockMargin)
        {
            violations.append("\(link.user) is served after the end of its grant")
        }
        if scenario.watchesLeases { checkSeal(of: link) }
        return result
    }

    /// The clock of a connection's gateway.
    func wallTime(of link: SimulatedLink) -> Int64 { time + gateways[link.gateway].clockOffset }

    /// The timer of a subscription, which comes before what else its loop has to do.
    private mutating func renewIfDue(_ link: SimulatedLink) {
        link.wallTime = wallTime(of: link)
        guard link.isRenewalDue(at: link.wallTime) else { return }
        let isExpired = link.renew(mayServe: gateways[link.gateway].mayServe(at: time))
        if isExpired { happened(.expired) }
        permissions.questions.append(link.user)
    }

    /// After the receipt of a revocation nobody serves the user, or has documents of before and may send them.
    mutating func checkSeal(of link: SimulatedLink) {
        guard link.isServing || link.holdsData, permissions.isSealed(link.user),
            gateways[link.gateway].isValid(at: time)
        else { return }
        violations.append("\(link.user) is served after the receipt of its revocation")
    }

    mutating func carryOut(_ link: SimulatedLink) {
        while !link.requests.isEmpty {
            switch link.requests.removeFirst() {
            case .follow:
                link.following = gateways[link.gateway].followers.follow(
                    [ExactText(link.user), ExactText(SimulatedPermissions.everyone)],
                    .init(link: link.id, subscription: link.subscription))
            case .release(.nothing): break
            case .release(.stopFollowing(let following)): gateways[link.gateway].followers.stop(following)
            case .release(.fence(let fence)): acknowledge(gateways[link.gateway].stopped(fence))
            }
        }
    }

    private mutating func acknowledge(_ answer: SimulatedPermissions.Answer?) {
        if let answer { permissions.answers.append(answer) }
    }

    /// The connections of a gateway.
    func connections(of gateway: Int) -> [Int] { links.indices.filter { links[$0]?.gateway == gateway } }

    /// Lets one thing happen in a gateway.
    /// - Returns: Whether there was anything.
    mutating func advance(gateway place: Int, withFaults: Bool) -> Bool {
        if gateways[place].leaseHasChanged(at: time) { return leaseChanged(place) }
        var choices: [Int] = []
        // The topic may be late, so that much comes together.
        if !withFaults || Int.random(in: 0..<16, using: &generator) == 0 { gateways[place].isBehind = false }
        let isLate = withFaults && (gateways[place].isBehind || Int.random(in: 0..<3, using: &generator) > 0)
        if gateways[place].changesPosition < topic.count, !isLate { choices.append(0) }
        let next = gateways[place].notices.firstIndex { notice in
            !links.contains { $0?.id == notice.follower.link && $0?.isStuck == true }
        }
        if next != nil { choices.append(1) }
        if !gateways[place].committed.isEmpty { choices.append(-1) }
        if !gateways[place].isCutOff {
            for partition in permissions.topic.indices
            where gateways[place].grantPositions[partition] < permissions.topic[partition].count {
                choices.append(2 + partition)
            }
        }
        guard let choice = choices.randomElement(using: &generator) else { return false }
        switch choice {
        case -1: deliverCommitted(place, withFaults: withFaults)
        case 0: readChanges(place, withFaults: withFaults)
        case 1: if let next { takeNotice(place, at: next) }
        default: readGrants(place, partition: choice - 2)
        }
        return true
    }

    private mutating func leaseChanged(_ place: Int) -> Bool {
        let isValid = gateways[place].isValid(at: time)
        if isTraced { trace.append("the lease of gateway \(gateways[place].name) is \(isValid ? "valid" : "lapsed")") }
        if !isValid { happened(.suspended) }
        for index in connections(of: place) where links[index]?.isStuck == false { hearOfLease(index) }
        return true
    }

    private mutating func hearOfLease(_ index: Int) {
        guard let link = links[index] else { return }
        if link.holdsData, !gateways[link.gateway].isValid(at: time) { return disconnect(index) }
        let mayServe = gateways[link.gateway].mayServe(at: time)
        _ = change(index) { $0.rightsChanged(mayServe: mayServe) }
    }

    /// The loop of a session stands still, or goes on.
    mutating func stopOrContinueLoop(_ index: Int) {
        guard let link = links[index] else { return }
        links[index]?.isStuck.toggle()
        if link.isStuck { hearOfLease(index) }
    }

    private mutating func readGrants(_ place: Int, partition: Int) {
        let message = permissions.topic[partition][gateways[place].grantPositions[partition]]
        gateways[place].grantPositions[partition] += 1
        if isTraced { trace.append("gateway \(gateways[place].name) reads \(message)") }
        acknowledge(
            gateways[place].handle(message, on: partition, validity: permissions.validity, now: time))
    }

    /// A grant has reached the loop of a subscription, which may have ended.
    private mutating func takeNotice(_ place: Int, at number: Int) {
        let notice = gateways[place].notices.remove(at: number)
        guard let index = links.firstIndex(where: { $0?.id == notice.follower.link }) else {
            if let fence = notice.fence { acknowledge(gateways[place].stopped(fence)) }
            return
        }
        let mayServe = gateways[place].mayServe(at: time)
        _ = change(index) { link in
            if link.subscription == notice.follower.subscription { link.hear(notice.grant, mayServe: mayServe) }
            if let fence = notice.fence { link.whenDrained(.fence(fence)) }
        }
    }

    /// A subscription reads its first grant, and asks if there is none.
    mutating func readGrant(_ index: Int) {
        guard let link = links[index] else { return }
        let grant = permissions.grant(of: link.user, at: time)
        let mayServe = gateways[link.gateway].mayServe(at: time)
        if isTraced { trace.append("\(devices[index].id)'s grant is \(grant?.access.rawValue ?? "missing")") }
        if grant?.access ?? Access.none == Access.none { permissions.questions.append(link.user) }
        _ = change(index) { link in
            link.isReadingGrant = false
            if let grant, grant.access != .none { link.read(grant, mayServe: mayServe) } else { link.isAsking = true }
        }
    }

    private mutating func readChanges(_ place: Int, withFaults: Bool) {
        var position = gateways[place].changesPosition
        var lost = -1
        if withFaults, scenario.mishaps.contains(.feedFaults) {
            switch Int.random(in: 0..<8, using: &generator) {
            case 0:
                // What the relay has published is gone; the head after it isn't.
                lost = position + Int.random(in: 0...1, using: &generator)
            case 1:
                position = max(position - Int.random(in: 1...5, using: &generator), 0)
                happened(.feedRepeated)
            default: break
            }
        }
        // The broker answers with a few messages, or with all that there is room for.
        let isFull = Bool.random(using: &generator)
        var messages: [FeedAssembly<DocumentChange>.Message] = []
        while position < topic.count, messages.count < SimulatedLink.largest {
            let entry = topic[position]
            position += 1
            switch entry {
            case .change where position - 1 == lost:
                happened(.feedLost)
                continue
            case .change(let change, let continues):
                messages.append(.change(change, change.revision, size: 1, continues: continues))
                if isFull || Bool.random(using: &generator) { continue }
            case .large(let revision), .head(let revision): messages.append(.announcement(revision))
            }
            break
        }
        // The topic delivers at least once: sometimes the gateway reads it again.
        if !withFaults || Int.random(in: 0..<8, using: &generator) > 0 { gateways[place].changesPosition = position }
        deliver(gateways[place].feed.take(messages), by: place)
    }

    /// A gateway passes a commit of its own to its feed. It may hear of two in another order than they were made, or not at all.
    private mutating func deliverCommitted(_ place: Int, withFaults: Bool) {
        let number = withFaults ? Int.random(in: 0..<min(2, gateways[place].committed.count), using: &generator) : 0
        let changes = gateways[place].committed.remove(at: number)
        guard let first = changes.first?.revision, !withFaults || Int.random(in: 0..<8, using: &generator) > 0 else {
            return
        }
        let from = Revision(epoch: first.epoch, number: first.number - 1)
        let runs = gateways[place].feed.take(own: changes, from: from, size: changes.count)
        if !runs.isEmpty { happened(.deliveredEarly) }
        deliver(runs, by: place)
    }

    /// Passes on what the feed of a gateway makes frames of.
    private mutating func deliver(_ runs: [FeedAssembly<DocumentChange>.Run], by place: Int) {
        for run in runs {
            gateways[place].delivered = max(gateways[place].delivered, run.to)
            let frame =
                switch run {
                case .changes(let changes, let from, let to):
                    LiveFrame(
                        from: from, to: to, byteCount: changes.count,
                        payload: Download(from: from, to: to, changes: changes))
                case .announcement(let revision):
                    LiveFrame(
                        from: revision, to: revision, byteCount: 0,
                        payload: Download(from: revision, to: revision, changes: []))
                }
            for index in links.indices where links[index]?.gateway == place && links[index]?.isAttached == true {
                let wasLive = links[index]?.machine?.isLive ?? false
                _ = change(index) { $0.received(frame) }
                if wasLive, links[index]?.machine?.isLive == false { happened(.lagged) }
            }
        }
    }

    /// A gateway compares what its feed has delivered with what the store has.
    /// - Returns: Whether there was something that the topic doesn't bring.
    mutating func lookAtHeads(_ place: Int) -> Bool {
        let missed = gateways[place].missedHeads.look(
            delivered: [Self.key: gateways[place].delivered], heads: [Self.key: server.head])
        if let head = missed[Self.key] { deliver(gateways[place].feed.take([.announcement(head)]), by: place) }
        return !missed.isEmpty
    }

    /// A gateway ends, and another one takes its place, with nothing in memory.
    mutating func loseGateway(_ place: Int) {
        if isTraced { trace.append("gateway \(gateways[place].name) ends") }
        happened(.gatewayLost)
        for index in connections(of: place) { disconnect(index) }
        gateways[place] = newGateway()
    }

    /// A gateway that reads what comes from now on. It is in the registry before it serves anybody.
    mutating func newGateway() -> SimulatedGateway {
        gatewayCount += 1
        registry.insert(gatewayCount)
        return SimulatedGateway(
            name: gatewayCount, changesPosition: topic.count, grantPositions: permissions.topic.map(\.count))
    }
}
