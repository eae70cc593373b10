import DocumentModel
import SyncEngine

/// Devices, one server, and everything that can happen between them, in an order that numbers decide.
public struct SimulatedWorld: Sendable {
    private(set) var server = SimulatedServer()
    private(set) var devices: [SimulatedDevice]
    /// Increments of the counter that devices made, by device id.
    private(set) var increments = 0
    /// How many changesets were written.
    private var written = 0
    /// Every token that was pushed onto the log.
    private(set) var tokens: [String] = []
    /// Increments of the tally in changesets that the server has acknowledged, by the changesets' clocks. Unlike the counter's they all
    /// look the same.
    private(set) var tallied: [ChangesetName: Int] = [:]
    /// Tokens that went with a device's state when the device was restored from a backup.
    private(set) var goneTokens: Set<String> = []
    /// How often the interesting cases happened.
    public private(set) var events: [Event: Int] = [:]
    /// What happened that never may.
    public internal(set) var violations: [String] = []
    /// What happened, in words, if it is written down.
    public private(set) var trace: [String] = []
    let scenario: Scenario
    private let isTraced: Bool
    private var links: [SimulatedLink?]
    private var backup: SimulatedServer?
    private var generator = SeededGenerator(seed: 0)
    private var time: Int64 = 1_700_000_000_000
    /// How far the devices' wall clocks are ahead, in milliseconds.
    private var clockOffsets: [Int64]
    /// When changesets were written, and how far the device's clock was ahead then, by their clocks.
    private var writtenAt: [ChangesetName: (time: Int64, offset: Int64)] = [:]
    /// How many documents there may be besides the counters.
    private let notes: Int
    private var deviceBackups: [SimulatedDevice]
    /// Uploads of lost connections, which their gateway has received, but not committed yet.
    private var strays: [(device: String, changeset: Changeset, time: HybridTime)] = []

    public enum Event: CaseIterable, Sendable {
        case answeredAgain, disconnected, restored, cloned, rejected, gap, forked, lagged, versionGap, revoked
        case straying, tombstonesDropped, servedFromStart, catchUpResumed, catchUpAbandoned
        case deviceRestored, sessionEnded, suspended, feedLost, feedRepeated, moved, moveRefused, lostWrite
    }

    static let counter = DocumentKey(collection: "Counter", idText: "s:counter")
    static let tally = DocumentKey(collection: "Counter", idText: "s:tally")

    init(_ scenario: Scenario, isTraced: Bool) {
        self.scenario = scenario
        self.isTraced = isTraced
        notes = max(scenario.filled, 3)
        let count = scenario.devices + scenario.readers
        devices = (0..<count).map { SimulatedDevice(id: "device-\($0)") }
        deviceBackups = devices
        clockOffsets = Array(repeating: 0, count: count)
        links = Array(repeating: nil, count: count)
        // The counter exists from the start, in every backup.
        _ = server.commit(
            Changeset(
                version: 1, clock: HybridTime(milliseconds: 1),
                operations: [
                    Operation(
                        collection: "Counter", id: "counter",
                        kind: .insert(Self.member(["_id": "counter", "total": .int64(0), "log": []]))),
                    Operation(
                        collection: "Counter", id: "tally",
                        kind: .insert(Self.member(["_id": "tally", "total": .int64(0)]))),
                ] + (0..<scenario.filled).map { Self.note($0) }), device: "founder", at: HybridTime(milliseconds: 1))
        backup = server
    }

    /// All devices connect, and everything in flight arrives.
    mutating func settle() {
        if isTraced { trace.append("everything arrives") }
        generator = SeededGenerator(seed: 1)
        for index in devices.indices {
            permit(index)
            resume(index)
        }
        // Also under ids that nobody has any more, and that a copy takes again.
        server.forbidden = []
        while !strays.isEmpty { commitStray() }
        // Without this nobody would know of frames that were lost and that no other followed.
        if scenario.mishaps.contains(.feedFaults) { server.publishHead() }
        for _ in 0..<20_000 {
            var isBusy = false
            for index in devices.indices {
                // A device that took a new id connects again.
                if links[index] == nil { connect(index) }
                isBusy = advance(index, withFaults: false) || isBusy
            }
            if !isBusy { return }
        }
        violations.append("the system doesn't come to rest")
    }

    /// Lets one thing happen, which the number decides.
    mutating func step(_ number: UInt64) {
        generator = SeededGenerator(seed: number)
        time += Int64.random(in: 0...3, using: &generator)
        let index = Int.random(in: devices.indices, using: &generator)
        switch Int.random(in: 0..<100, using: &generator) {
        case 0..<4: disconnect(index)
        case 4..<14: if links[index] == nil { connect(index) }
        case 14..<34: write(index)
        case 34..<36: writeOnServer()
        case 36..<42 where scenario.readers > 0: writeOnServer()
        case 42..<46 where isReader(index): reinstall(index)
        case 46..<58: if let mishap = scenario.choices.randomElement(using: &generator) { happen(mishap, to: index) }
        default: break
        }
        // Most of what happens is that frames arrive.
        for _ in 0..<4 {
            _ = advance(Int.random(in: devices.indices, using: &generator), withFaults: true)
        }
    }

    private mutating func happen(_ mishap: Mishap, to index: Int) {
        switch mishap {
        case .serverRestored: saveOrRestoreServer(underSockets: false)
        case .serverRestoredUnderSockets: saveOrRestoreServer(underSockets: true)
        case .deviceRestored: saveOrRestoreDevice(index)
        case .deviceCloned: clone(index)
        case .revocation: if server.forbidden.contains(devices[index].id) { permit(index) } else { forbid(index) }
        case .suspension: if links[index]?.isSuspended == true { resume(index) } else { suspend(index) }
        case .straying: if !strays.isEmpty { commitStray() }
        case .tombstonesDropped: if server.dropTombstones() { happened(.tombstonesDropped) }
        case .feedFaults: server.publishHead()
        case .moves: move(index)
        case .clockJumps: clockOffsets[index] = Int64.random(in: -100_000...100_000, using: &generator)
        }
    }

    private mutating func happened(_ event: Event) { events[event, default: 0] += 1 }

    // MARK: Mishaps

    private mutating func saveOrRestoreServer(underSockets: Bool) {
        guard let backup, Bool.random(using: &generator) else {
            if isTraced { trace.append("the server is backed up at \(server.head)") }
            return backup = server
        }
        if !underSockets { for index in devices.indices { disconnect(index) } }
        strays = []
        server.restore(backup)
        if isTraced { trace.append("the server is restored to \(server.head)") }
        happened(.restored)
    }

    private mutating func saveOrRestoreDevice(_ index: Int) {
        if Int.random(in: 0..<4, using: &generator) > 0 { return deviceBackups[index] = devices[index] }
        let before = Set(devices[index].openTokens)
        disconnect(index)
        if isTraced { trace.append("\(devices[index].id) is restored") }
        devices[index] = deviceBackups[index]
        devices[index].partition.disconnected()
        goneTokens.formUnion(before)
        happened(.deviceRestored)
    }

    private func isReader(_ index: Int) -> Bool { index >= devices.count - scenario.readers }

    private mutating func reinstall(_ index: Int) {
        disconnect(index)
        devices[index] = SimulatedDevice(id: devices[index].id)
        connect(index)
    }

    private mutating func clone(_ index: Int) {
        let other = Int.random(in: devices.indices, using: &generator)
        guard other != index else { return }
        goneTokens.formUnion(devices[index].openTokens)
        disconnect(index)
        if isTraced { trace.append("\(devices[index].id) becomes a copy of \(devices[other].id)") }
        devices[index] = devices[other]
        devices[index].partition.disconnected()
        happened(.cloned)
    }

    private mutating func forbid(_ index: Int) {
        server.forbidden.insert(devices[index].id)
        if isTraced { trace.append("\(devices[index].id) is revoked") }
        happened(.revoked)
        guard var link = links[index] else { return }
        link.access = .none
        link.perform(link.subscription?.revoked(reason: "notPermitted") ?? [], feedEnd: server.feed.count)
        links[index] = link
    }

    private mutating func permit(_ index: Int) {
        server.forbidden.remove(devices[index].id)
        links[index]?.access = .write
        if devices[index].isRevoked, links[index] != nil { open(index) }
        devices[index].isRevoked = false
    }

    private mutating func suspend(_ index: Int) {
        guard var link = links[index] else { return }
        if isTraced { trace.append("\(devices[index].id) is suspended") }
        happened(.suspended)
        link.perform(link.subscription?.suspend() ?? [], feedEnd: server.feed.count)
        link.isSuspended = true
        links[index] = link
    }

    private mutating func resume(_ index: Int) {
        guard var link = links[index], link.isSuspended else { return }
        if isTraced { trace.append("\(devices[index].id) is resumed") }
        link.isSuspended = false
        let queued = link.queued
        link.perform(link.subscription?.resume(queued: queued) ?? [], feedEnd: server.feed.count)
        links[index] = link
    }

    private mutating func commitStray() {
        let stray = strays.removeFirst()
        happened(.straying)
        _ = commit(stray.changeset, device: stray.device, at: stray.time)
    }

    private mutating func commit(_ changeset: Changeset, device: String, at time: HybridTime) -> UploadResult {
        let result = server.commit(changeset, device: device, at: time)
        if isTraced { trace.append("\(device) uploads \(changeset.version): \(result), the head is \(server.head)") }
        if case .acknowledged(let acknowledgement) = result {
            let count = changeset.operations.count { $0.key == Self.tally }
            if count > 0 { tallied[ChangesetName(changeset, device: device)] = count }
            if !acknowledgement.lost.isEmpty { happened(.lostWrite) }
        }
        return result
    }

    /// Sometimes so much that the gateways can't hold it during a catch-up.
    private mutating func writeOnServer() {
        let count = Int.random(in: 0..<4, using: &generator) == 0 ? 10 : 1
        for _ in 0..<count { server.set("server", .int64(time), of: randomKey(), milliseconds: time) }
    }

    // MARK: Connections

    private mutating func connect(_ index: Int) {
        var link = SimulatedLink()
        link.access = server.forbidden.contains(devices[index].id) ? .none : .write
        links[index] = link
        if !devices[index].isRevoked { open(index) }
    }

    private mutating func open(_ index: Int) {
        let partition = devices[index].partition
        links[index]?.up.append(.subscribe(partition.checkpoint, resume: partition.resumeToken))
    }

    private mutating func disconnect(_ index: Int) {
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
    private func wallClock(of index: Int) -> Int64 { time + clockOffsets[index] }

    /// The time that the gateway gives a changeset that arrives now.
    private mutating func corrected(_ changeset: Changeset, of index: Int) -> HybridTime {
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
    private mutating func advance(_ index: Int, withFaults: Bool) -> Bool {
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

    private mutating func arriveUp(_ index: Int) {
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

    private mutating func countMoves(_ changeset: Changeset, isAccepted: Bool) {
        let hasMove = changeset.operations.contains { operation in
            guard case .update(let operators, _) = operation.kind else { return false }
            return operators["$set"]?.documentValue?[SimulatedServer.partitionKey] != nil
        }
        if hasMove { happened(isAccepted ? .moved : .moveRefused) }
    }

    private mutating func arriveDown(_ index: Int) {
        guard var link = links[index] else { return }
        let frame = link.down.removeFirst()
        if link.down.isEmpty {
            link.perform(link.subscription?.drained() ?? [], feedEnd: server.feed.count)
        }
        links[index] = link
        take(frame, by: index)
    }

    private mutating func take(_ frame: SimulatedLink.Down, by index: Int) {
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

    private static func text(of frame: SimulatedLink.Down) -> String {
        guard case .download(let download) = frame else { return "\(frame)" }
        let kind = download.catchUp.map { $0.isFinal ? "the last chunk" : "a chunk" } ?? "a frame"
        let changes = download.changes.map {
            "\($0.key?.idText ?? "?")\($0.document == nil ? " deleted" : "") \($0.revision)"
        }
        return "\(kind) \(download.from)…\(download.to): \(changes.joined(separator: ", "))"
    }

    private mutating func effects(
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
    private mutating func startRead(_ index: Int) {
        guard let after = links[index]?.reading.removeFirst() else { return }
        let limit = Int.random(in: 1...SimulatedLink.largest, using: &generator)
        links[index]?.late.append(server.readChunk(after: after, limit: limit, device: devices[index].id))
    }

    private mutating func endRead(_ index: Int) {
        guard var link = links[index] else { return }
        let chunk = link.late.removeFirst()
        let queued = link.queued
        link.perform(link.subscription?.chunkRead(chunk, queued: queued) ?? [], feedEnd: server.feed.count)
        links[index] = link
    }

    private mutating func feed(_ index: Int, withFaults: Bool) {
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

    // MARK: Writes

    private static func note(_ number: Int) -> Operation {
        let id = Value.string("\(number)")
        return Operation(collection: "Note", id: id, kind: .insert(member(["_id": id, "a": .int64(0)])))
    }

    /// A document of the partition.
    private static func member(_ document: Document) -> Document {
        Document(fields: document.fields + [SimulatedServer.membership])
    }

    /// The tokens that a changeset pushes onto the log.
    static func tokens(of changeset: Changeset) -> [String] {
        changeset.operations.compactMap { operation in
            guard operation.key == counter, case .update(let operators, _) = operation.kind else { return nil }
            return operators["$push"]?.documentValue?["log"]?.stringValue
        }
    }

    private mutating func randomKey() -> DocumentKey {
        DocumentKey(collection: "Note", idText: "s:\(Int.random(in: 0..<notes, using: &generator))")
    }

    private mutating func write(_ index: Int) {
        guard mayWrite(index) else { return }
        // Often one that is identical to others of its kind, also to those of a copy of the device.
        var operations = Int.random(in: 0..<3, using: &generator) == 0 ? [Self.tallied] : []
        if operations.isEmpty {
            for _ in 0...Int.random(in: 0...4, using: &generator) { operations.append(randomOperation()) }
        }
        write(operations, on: index)
    }

    private func mayWrite(_ index: Int) -> Bool { !devices[index].isRevoked && !isReader(index) }

    /// A document leaves the partition, if the user may write the other one.
    private mutating func move(_ index: Int) {
        guard mayWrite(index) else { return }
        let target: Document = ["$set": .document([SimulatedServer.partitionKey: "elsewhere"])]
        let key = randomKey()
        write(
            [
                Operation(
                    collection: key.collection, id: Value(idText: key.idText) ?? .null,
                    kind: .update(operators: target, arrayFilters: []))
            ], on: index)
    }

    private mutating func write(_ operations: [Operation], on index: Int) {
        // No two changesets of copies of a device have the same time; those of different devices may.
        if !scenario.mishaps.isDisjoint(with: [.deviceCloned, .deviceRestored]) { time += 1 }
        written += 1
        devices[index].write(operations, milliseconds: wallClock(of: index), id: "w\(written)")
        if let changeset = devices[index].partition.pending.last?.changeset {
            writtenAt[ChangesetName(changeset, device: devices[index].id)] = (time, clockOffsets[index])
        }
        if isTraced { trace.append("\(devices[index].id) writes \(operations.map(\.kind))") }
    }

    private static let tallied = Operation(
        collection: "Counter", id: "tally", kind: .update(operators: ["$inc": ["total": .int64(1)]], arrayFilters: []))

    private mutating func randomOperation() -> Operation {
        let key = randomKey()
        let id = Value(idText: key.idText) ?? .null
        let field = ["a", "b", "c.x", "c.y", "c"].randomElement(using: &generator) ?? "a"
        let value = Value.int64(Int64.random(in: 0..<100, using: &generator))
        func update(_ operators: Document) -> Operation {
            Operation(collection: key.collection, id: id, kind: .update(operators: operators, arrayFilters: []))
        }
        switch Int.random(in: 0..<20, using: &generator) {
        case 0..<6:
            increments += 1
            let token = "t\(increments)"
            tokens.append(token)
            return Operation(
                collection: "Counter", id: "counter",
                kind: .update(
                    operators: ["$inc": ["total": .int64(1)], "$push": ["log": .string(token)]], arrayFilters: []))
        case 6..<8: return Self.tallied
        case 8..<10:
            return Operation(
                collection: "Note", id: id, kind: .insert(Self.member(["_id": id, "a": value, "c": ["x": value]])))
        case 10..<12: return Operation(collection: "Note", id: id, kind: .delete)
        case 13..<14: return update(["$unset": .document([field: ""])])
        case 12..<13:
            return Operation(
                collection: "Note", id: .string("forbidden"),
                kind: .insert(Self.member(["_id": "forbidden", "forbidden": true])))
        default:
            let value: Value = field == "c" ? ["x": value, "z": value] : value
            return update(["$set": .document([field: value])])
        }
    }
}
