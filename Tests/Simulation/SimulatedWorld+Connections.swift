import DocumentModel
import SyncEngine

/// What happens on connections.
extension SimulatedWorld {
    /// To any gateway.
    mutating func connect(_ index: Int) {
        linkCount += 1
        links[index] = SimulatedLink(
            id: linkCount, user: devices[index].user, gateway: Int.random(in: gateways.indices, using: &generator))
        if !devices[index].isRevoked { open(index) }
    }

    mutating func open(_ index: Int) {
        let partition = devices[index].partition
        links[index]?.up.append(.subscribe(partition.checkpoint, resume: partition.resumeToken))
    }

    mutating func disconnect(_ index: Int) {
        if let link = links[index] {
            if isTraced { trace.append("\(devices[index].id) is disconnected") }
            happened(.disconnected)
            // What the gateway has received it commits all the same.
            strays += link.uploads
            if scenario.mishaps.contains(.straying), Bool.random(using: &generator) {
                for case .upload(let changeset) in link.up { strays.append(received(changeset, of: index)) }
            }
            link.end()
            carryOut(link)
            violations += link.violations.map { "\(devices[index].id): \($0)" }
        }
        links[index] = nil
        devices[index].partition.disconnected()
    }

    /// A changeset that its gateway receives now.
    private mutating func received(_ changeset: Changeset, of index: Int) -> SimulatedLink.Received {
        .init(
            device: devices[index].id, changeset: changeset, time: corrected(changeset, of: index),
            subscription: links[index]?.subscription ?? 0)
    }

    /// The wall clock of a device, in milliseconds.
    func wallClock(of index: Int) -> Int64 { time + clockOffsets[index] }

    /// The time that the gateway gives a changeset that arrives now.
    mutating func corrected(_ changeset: Changeset, of index: Int) -> HybridTime {
        let now = time
        let corrected = ClockCorrection(sentAt: wallClock(of: index), receivedAt: now)
            .corrected(changeset.clock, now: HybridTime(milliseconds: now))
        if corrected > HybridTime(milliseconds: now) { violations.append("a changeset is later than now") }
        // A device whose clock is wrong, and hasn't jumped since, is as late as one whose clock is right.
        if let written = writtenAt[ChangesetName(changeset, device: devices[index].id)],
            written.offset == clockOffsets[index],
            corrected.milliseconds < written.time
        {
            violations.append("a changeset is earlier than it was written")
        }
        return corrected
    }

    /// Lets one thing happen on a connection.
    ///
    /// - Returns: Whether there was anything.
    mutating func advance(_ index: Int, withFaults: Bool) -> Bool {
        guard links[index]?.isStuck == false else { return false }
        if links[index]?.isEnded == true {
            happened(.sessionEnded)
            disconnect(index)
            return true
        }
        if let link = links[index], link.isRenewalDue(at: wallTime(of: link)) {
            _ = change(index) { _ in }
            return true
        }
        // A device that doesn't receive what was queued before a revocation is disconnected.
        if withFaults, links[index]?.waits.isEmpty == false, Int.random(in: 0..<40, using: &generator) == 0 {
            disconnect(index)
            return true
        }
        let uploads = devices[index].partition.takeUploads(window: 4)
        if !uploads.isEmpty { links[index]?.up += uploads.map(SimulatedLink.Up.upload) }
        // The database may be slow, and the network of some devices.
        let isReadingSlowly = withFaults && Int.random(in: 0..<5, using: &generator) > 0
        let isSlow = withFaults && index % 3 == 2 && Int.random(in: 0..<6, using: &generator) > 0
        let choices = links[index]?.choices(isReadingSlowly: isReadingSlowly, isSlow: isSlow) ?? []
        guard let choice = choices.randomElement(using: &generator) else { return false }
        perform(choice, index)
        return true
    }

    /// Advances a connection without faults, whose socket takes something only when nothing else is left to do.
    /// - Returns: Whether there was anything.
    mutating func advanceUnflushed(_ index: Int) -> Bool {
        let choices = links[index]?.choices(isReadingSlowly: false, isSlow: false) ?? []
        guard let choice = choices.first(where: { $0 != .flush }) ?? choices.first else { return false }
        perform(choice, index)
        return true
    }

    private mutating func perform(_ choice: SimulatedLink.Choice, _ index: Int) {
        switch choice {
        case .arriveUp: arriveUp(index)
        case .arriveDown: if let frame = links[index]?.down.removeFirst() { take(frame, by: index) }
        case .startRead: startRead(index)
        case .endRead: _ = change(index) { $0.chunkRead($0.late.removeFirst()) }
        case .readGrant: readGrant(index)
        case .answer: _ = change(index) { $0.queue($0.answers.removeFirst()) }
        case .commit: commitNext(index)
        case .flush: flush(index)
        }
    }

    /// The kernel takes a frame, if the gateway may still send what it has queued.
    private mutating func flush(_ index: Int) {
        guard let link = links[index] else { return }
        if link.holdsData, !gateways[link.gateway].isValid(at: time) {
            happened(.reset)
            return disconnect(index)
        }
        guard case .download = change(index, { $0.flush() }) else { return }
        if permissions.isSealed(link.user) {
            violations.append("\(devices[index].id) is sent changes after the receipt of its revocation")
        }
    }

    mutating func arriveUp(_ index: Int) {
        guard let frame = links[index]?.up.removeFirst(), let place = links[index]?.gateway else { return }
        let device = devices[index].id
        switch frame {
        case .subscribe(let checkpoint, let resume):
            let token = resume.flatMap { ResumeToken($0) }
            let point = server.resumePoint(for: checkpoint, resuming: token)
            if isTraced {
                trace.append("\(device) subscribes with \(checkpoint) \(resume ?? ""), served from \(point.revision)")
            }
            if point.revision.number == 0, checkpoint.number > 0 { happened(.servedFromStart) }
            if let token { happened(point.revision == token.revision ? .catchUpResumed : .catchUpAbandoned) }
            let mayServe = gateways[place].mayServe(at: time)
            let epoch = server.history.current
            _ = change(index) { $0.subscribe(from: point, epoch: epoch, mayServe: mayServe) }
        case .upload(let changeset):
            let received = received(changeset, of: index)
            links[index]?.uploads.append(received)
        }
    }

    /// The gateway goes on with the first changeset that it has received.
    private mutating func commitNext(_ index: Int) {
        guard var received = links[index]?.uploads.first else { return }
        let isAgain = received.changeset.version <= server.lastVersion(of: received.device)
        let count = server.rows.count
        let result = commit(&received)
        if let place = links[index]?.gateway, server.rows.count > count {
            gateways[place].committed.append(server.rows[count...].map(\.change))
        }
        guard let result else {
            links[index]?.uploads[0] = received
            return
        }
        links[index]?.uploads.removeFirst()
        if isAgain { happened(.answeredAgain) }
        let version = received.changeset.version
        // A device that has opened the partition again hears when it sends the changeset again.
        let isAwaited =
            links[index]?.subscription == received.subscription && links[index]?.machine?.isClosed == false
        switch result {
        case .acknowledged(let ack):
            if isAwaited { links[index]?.answers.append(.ack(version: version, ack.revision, ack.lost)) }
            countMoves(received.changeset, isAccepted: true)
        case .rejected(let rejection):
            happened(.rejected)
            countMoves(received.changeset, isAccepted: false)
            if isAwaited { links[index]?.answers.append(.rejected(version: version, rejection)) }
        case .forked: if isAwaited { links[index]?.answers.append(.forked(version: version)) }
        case .outOfOrder:
            happened(.versionGap)
            close(index, received.subscription, .gap)
        case .undecided:
            happened(.undecided)
            close(index, received.subscription, .closed)
        }
    }

    /// The gateway closes the partition if it is the subscription in which a changeset came.
    private mutating func close(_ index: Int, _ subscription: Int, _ reason: SimulatedLink.Down) {
        _ = change(index) { link in
            guard link.subscription == subscription, link.machine?.isClosed == false else { return }
            link.unsubscribe()
            for answer in link.answers + [reason] { link.queue(answer) }
            link.answers = []
        }
    }

    mutating func countMoves(_ changeset: Changeset, isAccepted: Bool) {
        let hasMove = changeset.operations.contains { operation in
            guard case .update(let operators, _) = operation.kind else { return false }
            return operators["$set"]?.documentValue?[SimulatedServer.partitionKey] != nil
        }
        if hasMove { happened(isAccepted ? .moved : .moveRefused) }
    }

    mutating func take(_ frame: SimulatedLink.Down, by index: Int) {
        let device = devices[index]
        if isTraced { trace.append("\(device.id) receives \(Self.text(of: frame))") }
        do throws(DevicePartition.Fault) {
            devices[index].perform(try effects(of: frame, on: device, at: index))
        } catch {
            happened(.gap)
            return disconnect(index)
        }
        guard devices[index].partition.isForked, devices[index].partition.isReadyToFork else { return }
        if isTraced { trace.append("\(device.id) takes a new id") }
        happened(.forked)
        devices[index].id += "'"
        devices[index].perform(devices[index].partition.fork())
        if !devices[index].showsOwnWrites { violations.append("\(device.id) took a new id and hides its own writes") }
        disconnect(index)
    }

    static func text(of frame: SimulatedLink.Down) -> String {
        guard case .download(let download) = frame else { return "\(frame)" }
        let kind = download.catchUp.map { $0.isFinal ? "the last chunk" : "a chunk" } ?? "a frame"
        let changes = download.changes.map {
            "\($0.key?.idText ?? "?")\($0.document == nil ? " deleted" : "") \($0.revision)"
        }
        return "\(kind) \(download.from)…\(download.to): \(changes.joined(separator: ", "))"
    }

    mutating func effects(
        of frame: SimulatedLink.Down, on device: SimulatedDevice, at index: Int
    ) throws(DevicePartition.Fault) -> [DevicePartition.Effect] {
        switch frame {
        case .subscribed(let access, let lastVersion):
            return devices[index].partition.subscribed(
                access: access, lastVersion: lastVersion, retained: device.retained(after: lastVersion))
        case .access(let access): devices[index].partition.accessChanged(to: access)
        case .download(let download):
            // It was in flight when the partition was closed.
            guard device.partition.isSubscribed else { break }
            if download.catchUp?.isFinal != false, !server.endsCommit(download.to) {
                violations.append("\(device.id) shows a part of a commit, up to \(download.to)")
            }
            return try devices[index].partition.receive(download, device: device.id)
        case .ack(let version, let revision, let lost):
            return devices[index].partition.acknowledge(version: version, revision: revision, lost: lost)
        case .rejected(let version, let rejection):
            if rejection.code == .notPermitted, !permissions.wasRestricted(device.user) {
                violations.append("\(device.id) is told that it may not write, which nobody has decided")
            }
            return devices[index].partition.reject(version: version, rejection)
        case .forked(let version): devices[index].partition.foreign(version: version)
        case .gap:
            devices[index].partition.missedVersions()
            open(index)
        case .closed:
            happened(.closed)
            devices[index].partition.disconnected()
            open(index)
        case .revoked:
            if !permissions.denied.contains(device.user) {
                violations.append("\(device.id) is told that it may not read, which nobody has decided")
            }
            let effects = devices[index].partition.revoke(.init(code: .notPermitted, reason: "revoked"))
            devices[index].isRevoked = true
            return effects
        }
        return []
    }

    /// The store is read now; what it had arrives later.
    mutating func startRead(_ index: Int) {
        guard let after = links[index]?.reading.removeFirst() else { return }
        let limit = Int.random(in: 1...SimulatedLink.largest, using: &generator)
        links[index]?.late.append(server.readChunk(after: after, limit: limit, device: devices[index].id))
    }

    /// What the connections found until now.
    var linkViolations: [String] { links.flatMap { $0?.violations ?? [] } }
}
