import DocumentModel
import SyncEngine

/// What happens on connections.
extension SimulatedWorld {
    mutating func connect(_ index: Int) {
        var link = SimulatedLink()
        link.access = server.forbidden.contains(devices[index].id) ? .none : .write
        links[index] = link
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
            violations += link.violations.map { "\(devices[index].id): \($0)" }
            if scenario.mishaps.contains(.straying), Bool.random(using: &generator) {
                for case .upload(let changeset) in link.up {
                    strays.append((devices[index].id, changeset, corrected(changeset, of: index)))
                }
            }
        }
        links[index] = nil
        devices[index].partition.disconnected()
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
        guard var link = links[index] else { return false }
        if link.isEnded {
            happened(.sessionEnded)
            disconnect(index)
            return true
        }
        let uploads = devices[index].partition.takeUploads(window: 4)
        link.up += uploads.map(SimulatedLink.Up.upload)
        var choices: [Int] = []
        if !link.up.isEmpty { choices.append(0) }
        let isSlow = withFaults && index % 3 == 2 && Int.random(in: 0..<4, using: &generator) > 0
        if !link.down.isEmpty, !isSlow { choices.append(1) }
        if !link.reading.isEmpty { choices.append(2) }
        // The database may be slow, and the network of some devices.
        if !link.late.isEmpty, !withFaults || Int.random(in: 0..<5, using: &generator) == 0 { choices.append(3) }
        if let position = link.feedPosition, position < server.feed.count { choices.append(4) }
        if !link.answers.isEmpty { choices.append(5) }
        links[index] = link
        guard let choice = choices.randomElement(using: &generator) else { return !uploads.isEmpty }
        switch choice {
        case 0: arriveUp(index)
        case 1: arriveDown(index)
        case 2: startRead(index)
        case 3: endRead(index)
        case 5:
            let answer = link.answers.removeFirst()
            link.down.append(answer)
            links[index] = link
        default: feed(index, withFaults: withFaults)
        }
        return true
    }

    mutating func arriveUp(_ index: Int) {
        guard var link = links[index] else { return }
        let device = devices[index].id
        switch link.up.removeFirst() {
        case .subscribe(let checkpoint, let resume):
            let token = resume.flatMap { ResumeToken($0) }
            let point = server.resumePoint(for: checkpoint, resuming: token)
            if isTraced {
                trace.append("\(device) subscribes with \(checkpoint) \(resume ?? ""), served from \(point.revision)")
            }
            if point.revision.number == 0, checkpoint.number > 0 { happened(.servedFromStart) }
            if let token { happened(point.revision == token.revision ? .catchUpResumed : .catchUpAbandoned) }
            link.subscribe(from: point, epoch: server.history.current, feedEnd: server.feed.count)
        case .upload(let changeset):
            if changeset.version <= server.lastVersion(of: device) { happened(.answeredAgain) }
            switch commit(changeset, device: device, at: corrected(changeset, of: index)) {
            case .acknowledged(let ack):
                link.answers.append(.ack(version: changeset.version, ack.revision, ack.lost))
                countMoves(changeset, isAccepted: true)
            case .rejected(let rejection):
                happened(.rejected)
                countMoves(changeset, isAccepted: false)
                link.answers.append(.rejected(version: changeset.version, rejection))
            case .forked: link.answers.append(.forked(version: changeset.version))
            case .outOfOrder:
                happened(.versionGap)
                guard let actions = link.subscription?.unsubscribe(), !actions.isEmpty else { break }
                link.perform(actions, feedEnd: server.feed.count)
                link.down += link.answers + [.gap]
                link.answers = []
            }
        }
        links[index] = link
    }

    mutating func countMoves(_ changeset: Changeset, isAccepted: Bool) {
        let hasMove = changeset.operations.contains { operation in
            guard case .update(let operators, _) = operation.kind else { return false }
            return operators["$set"]?.documentValue?[SimulatedServer.partitionKey] != nil
        }
        if hasMove { happened(isAccepted ? .moved : .moveRefused) }
    }

    mutating func arriveDown(_ index: Int) {
        guard var link = links[index] else { return }
        let frame = link.down.removeFirst()
        if link.down.isEmpty {
            link.perform(link.subscription?.drained() ?? [], feedEnd: server.feed.count)
        }
        links[index] = link
        take(frame, by: index)
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
        let isForbidden = server.forbidden.remove(device.id) != nil
        devices[index].id += "'"
        if isForbidden { server.forbidden.insert(devices[index].id) }
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
            return try devices[index].partition.receive(download, device: device.id)
        case .ack(let version, let revision, let lost):
            return devices[index].partition.acknowledge(version: version, revision: revision, lost: lost)
        case .rejected(let version, let rejection):
            return devices[index].partition.reject(version: version, rejection)
        case .forked(let version): devices[index].partition.foreign(version: version)
        case .gap:
            devices[index].partition.missedVersions()
            open(index)
        case .revoked:
            let effects = devices[index].partition.revoke(.init(code: .notPermitted, reason: "revoked"))
            // Granted again in between: the app opens the partition again.
            devices[index].isRevoked = server.forbidden.contains(device.id)
            if !devices[index].isRevoked { open(index) }
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

    mutating func endRead(_ index: Int) {
        guard var link = links[index] else { return }
        let chunk = link.late.removeFirst()
        let queued = link.queued
        link.perform(link.subscription?.chunkRead(chunk, queued: queued) ?? [], feedEnd: server.feed.count)
        links[index] = link
    }

    mutating func feed(_ index: Int, withFaults: Bool) {
        guard var link = links[index], var position = link.feedPosition else { return }
        if withFaults, scenario.mishaps.contains(.feedFaults) {
            switch Int.random(in: 0..<8, using: &generator) {
            case 0:
                link.feedPosition = position + 1
                happened(.feedLost)
                return links[index] = link
            case 1:
                // Another relay has published what this one had published already.
                position = max(position - Int.random(in: 1...5, using: &generator), 0)
                happened(.feedRepeated)
            default: break
            }
        }
        let frame = server.feed[position]
        // The feed delivers at least once: sometimes it doesn't advance.
        if !withFaults || Int.random(in: 0..<8, using: &generator) > 0 { link.feedPosition = position + 1 }
        let queued = link.queued
        let wasLive = link.subscription?.isLive ?? false
        link.perform(link.subscription?.received(frame, queued: queued) ?? [], feedEnd: server.feed.count)
        if wasLive && link.subscription?.isLive == false { happened(.lagged) }
        links[index] = link
    }

    /// What the connections found until now.
    var linkViolations: [String] { links.flatMap { $0?.violations ?? [] } }
}
