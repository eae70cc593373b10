import DocumentModel
import SyncEngine

/// Devices, one server, and everything that can happen between them, in an order that a seed decides.
struct SimulatedWorld {
    private(set) var server = SimulatedServer()
    private(set) var devices: [SimulatedDevice]
    /// Increments of the counter that devices made, by device id.
    private(set) var increments = 0
    /// Every token that was pushed onto the log.
    private(set) var tokens: [String] = []
    /// Increments of the tally in changesets that the server has acknowledged, by the changesets' clocks. Unlike the counter's they all
    /// look the same.
    private(set) var tallied: [HybridTime: Int] = [:]
    /// Tokens that went with a device's state when the device was restored from a backup.
    private(set) var goneTokens: Set<String> = []
    /// How often the interesting cases happened.
    private(set) var events: [Event: Int] = [:]
    private var links: [SimulatedLink?]
    private var backup: SimulatedServer?
    private var generator: SeededGenerator
    private var time: Int64 = 1_700_000_000_000
    private let mishaps: Set<Mishap>
    /// How many documents there may be besides the counters.
    private let notes: Int
    /// How many of the devices, the last ones, only read, and are sometimes installed again.
    private let readers: Int
    private let window = 6
    private var deviceBackups: [SimulatedDevice]
    /// Uploads of lost connections, which their gateway has received, but not committed yet.
    private var strays: [(device: String, changeset: Changeset)] = []

    enum Event: CaseIterable {
        case answeredAgain, disconnected, restored, cloned, rejected, gap, forked, lagged, versionGap, revoked
        case straying, tombstonesDropped, servedFromStart, catchUpResumed, catchUpAbandoned
    }

    /// What may happen besides lost connections and answers.
    enum Mishap {
        /// The server goes back to a backup.
        case serverRestored
        /// A device goes back to a backup.
        case deviceRestored
        /// A device's state is copied to another one, also while writes of it are unanswered, and both go on.
        case deviceCloned
        /// A user's right is revoked, and granted again.
        case revocation
        /// Uploads of a lost connection are committed later.
        case straying
        /// The server drops the tombstones that it has.
        case tombstonesDropped
    }

    static let counter = DocumentKey(collection: "Counter", idText: "s:counter")
    static let tally = DocumentKey(collection: "Counter", idText: "s:tally")

    /// - Parameters:
    ///   - readers: How many devices there are besides, which only read, and are sometimes installed again.
    ///   - filled: How many notes exist from the start: with many, a catch-up has many chunks.
    init(
        seed: UInt64, devices count: Int, readers: Int = 0, filled: Int = 0, mishaps: Set<Mishap>,
        forgetsTombstoneHorizon: Bool = false,
        resumesAcrossRestores: Bool = false
    ) {
        notes = max(filled, 3)
        generator = SeededGenerator(seed: seed)
        self.readers = readers
        devices = (0..<count + readers).map { SimulatedDevice(id: "device-\($0)") }
        deviceBackups = devices
        links = Array(repeating: nil, count: count + readers)
        self.mishaps = mishaps
        server.forgetsTombstoneHorizon = forgetsTombstoneHorizon
        server.resumesAcrossRestores = resumesAcrossRestores
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
                ] + (0..<filled).map { Self.note($0) }), device: "founder")
        backup = server
    }

    mutating func run(steps: Int) {
        for _ in 0..<steps { step() }
    }

    /// All devices connect, and everything in flight arrives.
    mutating func settle() {
        for index in devices.indices { permit(index) }
        while !strays.isEmpty { commitStray() }
        for _ in 0..<100_000 {
            var isBusy = false
            for index in devices.indices {
                // A device that took a new id connects again.
                if links[index] == nil { connect(index) }
                isBusy = advance(index) || isBusy
            }
            if !isBusy { return }
        }
    }

    private mutating func step() {
        time += Int64.random(in: 0...3, using: &generator)
        let index = Int.random(in: devices.indices, using: &generator)
        switch Int.random(in: 0..<100, using: &generator) {
        case 0..<4: disconnect(index)
        case 4..<14: if links[index] == nil { connect(index) }
        case 14..<34: write(index)
        case 34..<36:
            server.set("server", .int64(time), of: randomKey(), milliseconds: time * 16)
        case 36..<37 where mishaps.contains(.serverRestored): saveOrRestoreServer()
        case 37..<39 where mishaps.contains(.deviceRestored): saveOrRestoreDevice(index)
        case 37..<39 where mishaps.contains(.deviceCloned): clone(index)
        case 39..<42 where mishaps.contains(.revocation):
            if server.forbidden.contains(devices[index].id) { permit(index) } else { forbid(index) }
        case 42..<46: if !strays.isEmpty { commitStray() }
        case 48..<52 where isReader(index): reinstall(index)
        case 52..<60 where readers > 0:
            server.set("server", .int64(time), of: randomKey(), milliseconds: time * 16)
        case 46..<48 where mishaps.contains(.tombstonesDropped):
            if server.dropTombstones() { events[.tombstonesDropped, default: 0] += 1 }
        default: _ = advance(index)
        }
    }

    // MARK: Mishaps

    private mutating func saveOrRestoreServer() {
        guard let backup, Bool.random(using: &generator) else { return backup = server }
        for index in devices.indices { disconnect(index) }
        strays = []
        server.restore(backup)
        events[.restored, default: 0] += 1
    }

    private mutating func saveOrRestoreDevice(_ index: Int) {
        if Int.random(in: 0..<4, using: &generator) > 0 { return deviceBackups[index] = devices[index] }
        let before = Set(devices[index].openTokens)
        disconnect(index)
        devices[index] = deviceBackups[index]
        devices[index].partition.disconnected()
        goneTokens.formUnion(before)
        events[.restored, default: 0] += 1
    }

    private func isReader(_ index: Int) -> Bool { index >= devices.count - readers }

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
        devices[index] = devices[other]
        devices[index].partition.disconnected()
        events[.cloned, default: 0] += 1
    }

    private mutating func forbid(_ index: Int) {
        server.forbidden.insert(devices[index].id)
        events[.revoked, default: 0] += 1
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

    private mutating func commitStray() {
        let stray = strays.removeFirst()
        events[.straying, default: 0] += 1
        _ = commit(stray.changeset, device: stray.device)
    }

    private mutating func commit(_ changeset: Changeset, device: String) -> UploadResult {
        let result = server.commit(changeset, device: device)
        if case .acknowledged = result {
            let count = changeset.operations.count { $0.key == Self.tally }
            if count > 0 { tallied[changeset.clock] = count }
        }
        return result
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
            events[.disconnected, default: 0] += 1
            if mishaps.contains(.straying), Bool.random(using: &generator) {
                for case .upload(let changeset) in link.up { strays.append((devices[index].id, changeset)) }
            }
        }
        links[index] = nil
        devices[index].partition.disconnected()
    }

    /// Lets one thing happen on a connection.
    ///
    /// - Returns: Whether there was anything.
    private mutating func advance(_ index: Int) -> Bool {
        guard var link = links[index] else { return false }
        let uploads = devices[index].partition.takeUploads(window: 4)
        link.up += uploads.map(SimulatedLink.Up.upload)
        var choices: [Int] = []
        if !link.up.isEmpty { choices.append(0) }
        if !link.down.isEmpty { choices.append(1) }
        if link.reading != nil { choices.append(2) }
        if let position = link.feedPosition, position < server.feed.count { choices.append(3) }
        links[index] = link
        guard let choice = choices.randomElement(using: &generator) else { return !uploads.isEmpty }
        switch choice {
        case 0: arriveUp(index)
        case 1: arriveDown(index)
        case 2: readChunk(index)
        default: feed(index)
        }
        return true
    }

    private mutating func arriveUp(_ index: Int) {
        guard var link = links[index] else { return }
        switch link.up.removeFirst() {
        case .subscribe(let checkpoint, let resume):
            let token = resume.flatMap { ResumeToken($0) }
            let resumePoint = server.resumePoint(for: checkpoint, resuming: token)
            link.resumePoint = resumePoint
            link.epoch = server.history.current
            if resumePoint.revision.number == 0, checkpoint.number > 0 { events[.servedFromStart, default: 0] += 1 }
            if let token {
                let isResumed = resumePoint.revision == token.revision
                events[isResumed ? .catchUpResumed : .catchUpAbandoned, default: 0] += 1
            }
            var subscription = SubscriptionStateMachine<Download>(checkpoint: resumePoint.revision, window: window)
            let actions = subscription.start()
            link.subscription = subscription
            link.perform(actions, feedEnd: server.feed.count)
        case .upload(let changeset):
            if changeset.version <= server.lastVersion(of: devices[index].id) {
                events[.answeredAgain, default: 0] += 1
            }
            switch commit(changeset, device: devices[index].id) {
            case .acknowledged(let ack):
                link.down.append(.ack(version: changeset.version, ack.revision, ack.lost))
            case .rejected(let rejection):
                events[.rejected, default: 0] += 1
                link.down.append(.rejected(version: changeset.version, rejection))
            case .forked: link.down.append(.forked(version: changeset.version))
            case .outOfOrder:
                events[.versionGap, default: 0] += 1
                guard let actions = link.subscription?.unsubscribe(), !actions.isEmpty else { break }
                link.perform(actions, feedEnd: server.feed.count)
                link.down.append(.gap)
            }
        }
        links[index] = link
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
        do throws(DevicePartition.Fault) {
            devices[index].perform(try effects(of: frame, on: device, at: index))
        } catch {
            events[.gap, default: 0] += 1
            return disconnect(index)
        }
        guard devices[index].partition.isForked, devices[index].partition.isReadyToFork else { return }
        events[.forked, default: 0] += 1
        let isForbidden = server.forbidden.remove(device.id) != nil
        devices[index].id += "'"
        if isForbidden { server.forbidden.insert(devices[index].id) }
        devices[index].perform(devices[index].partition.fork())
        disconnect(index)
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

    private mutating func readChunk(_ index: Int) {
        guard var link = links[index], let after = link.reading else { return }
        link.reading = nil
        let isComplete = link.resumePoint.isComplete(after: after, dropped: server.tombstoneHorizon)
        guard isComplete || server.forgetsTombstoneHorizon else { return disconnect(index) }
        let limit = Int.random(in: 1...4, using: &generator)
        let chunk = server.readChunk(after: after, limit: limit, device: devices[index].id)
        let queued = link.queued
        link.perform(link.subscription?.chunkRead(chunk, queued: queued) ?? [], feedEnd: server.feed.count)
        links[index] = link
    }

    private mutating func feed(_ index: Int) {
        guard var link = links[index], let position = link.feedPosition else { return }
        let frame = server.feed[position]
        // The feed delivers at least once: sometimes it doesn't advance.
        if Int.random(in: 0..<8, using: &generator) > 0 { link.feedPosition = position + 1 }
        let queued = link.queued
        let wasLive = link.subscription?.isLive ?? false
        link.perform(link.subscription?.received(frame, queued: queued) ?? [], feedEnd: server.feed.count)
        if wasLive && link.subscription?.isLive == false { events[.lagged, default: 0] += 1 }
        links[index] = link
    }

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
        if devices[index].isRevoked || isReader(index) { return }
        time += 1  // no two changesets of copies of a device have the same time
        // Often one that is identical to others of its kind, also to those of a copy of the device.
        var operations = Int.random(in: 0..<3, using: &generator) == 0 ? [Self.tallied] : []
        if operations.isEmpty {
            for _ in 0...Int.random(in: 0...2, using: &generator) { operations.append(randomOperation()) }
        }
        devices[index].write(operations, milliseconds: time * 16 + Int64(index))
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
        case 8..<9:
            return Operation(
                collection: "Note", id: id, kind: .insert(Self.member(["_id": id, "a": value, "c": ["x": value]])))
        case 9..<10: return Operation(collection: "Note", id: id, kind: .delete)
        case 10..<12: return update(["$unset": .document([field: ""])])
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
