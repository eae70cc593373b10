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
    /// How often what is worth a simulation happened.
    private(set) var events: [Event: Int] = [:]
    private var links: [SimulatedLink?]
    private var backup: SimulatedServer?
    private var generator: SeededGenerator
    private var time: Int64 = 1_700_000_000_000
    private let restores: Bool
    private let window = 6

    enum Event: CaseIterable {
        case answeredAgain, disconnected, restored, rejected, gap, forked, lagged
    }

    static let counter = DocumentKey(collection: "Counter", idText: "s:counter")

    /// - Parameter restores: Whether the server goes back to a backup now and then.
    init(seed: UInt64, devices count: Int, restores: Bool = false) {
        generator = SeededGenerator(seed: seed)
        devices = (0..<count).map { SimulatedDevice(id: "device-\($0)") }
        links = Array(repeating: nil, count: count)
        self.restores = restores
        // The counter is there before everything, in every backup.
        _ = server.commit(
            Changeset(
                version: 1, clock: HybridTime(milliseconds: 1),
                operations: [
                    Operation(
                        collection: "Counter", id: "counter",
                        kind: .insert(["_id": "counter", "total": .int64(0), "log": []]))
                ]), device: "founder")
        backup = server
    }

    mutating func run(steps: Int) {
        for _ in 0..<steps { step() }
    }

    /// Everybody connects, and everything that is under way arrives.
    mutating func settle() {
        for index in devices.indices where links[index] == nil { connect(index) }
        for _ in 0..<100_000 {
            var isBusy = false
            for index in devices.indices { isBusy = advance(index) || isBusy }
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
            server.set("server", .int64(time), of: randomKey(), milliseconds: time)
        case 36..<37 where restores:
            if Bool.random(using: &generator) {
                backup = server
            } else if let backup {
                for index in devices.indices { disconnect(index) }
                server.restore(backup)
                events[.restored, default: 0] += 1
            }
        default: _ = advance(index)
        }
    }

    // MARK: Connections

    private mutating func connect(_ index: Int) {
        var link = SimulatedLink()
        link.up.append(.subscribe(devices[index].partition.received))
        links[index] = link
    }

    private mutating func disconnect(_ index: Int) {
        if links[index] != nil { events[.disconnected, default: 0] += 1 }
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
        case .subscribe(let checkpoint):
            var subscription = SubscriptionStateMachine<Download>(checkpoint: checkpoint, window: window)
            let actions = subscription.start()
            link.subscription = subscription
            link.perform(actions, feedEnd: server.feed.count)
        case .upload(let changeset):
            if changeset.version <= server.lastVersion(of: devices[index].id) {
                events[.answeredAgain, default: 0] += 1
            }
            switch server.commit(changeset, device: devices[index].id) {
            case .ack(let revision, let lost):
                link.down.append(.ack(version: changeset.version, revision, lost))
            case .rejected(let rejection):
                events[.rejected, default: 0] += 1
                link.down.append(.rejected(version: changeset.version, rejection))
            case .forked: link.down.append(.forked)
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
            let effects =
                switch frame {
                case .subscribed(let access, let lastVersion):
                    try devices[index].partition.subscribed(
                        access: access, lastVersion: lastVersion, retained: device.retained(after: lastVersion))
                case .download(let download):
                    try devices[index].partition.receive(download, device: device.id)
                case .ack(let version, let revision, let lost):
                    devices[index].partition.acknowledge(version: version, revision: revision, lost: lost)
                case .rejected(let version, let rejection):
                    devices[index].partition.reject(version: version, rejection)
                case .forked: throw .forked
                }
            devices[index].perform(effects)
        } catch .gap {
            events[.gap, default: 0] += 1
            disconnect(index)
        } catch {
            events[.forked, default: 0] += 1
            devices[index].id += "'"
            devices[index].perform(devices[index].partition.fork())
            disconnect(index)
        }
    }

    private mutating func readChunk(_ index: Int) {
        guard var link = links[index], let after = link.reading else { return }
        link.reading = nil
        let limit = Int.random(in: 1...4, using: &generator)
        let chunk = server.readChunk(after: after, limit: limit, device: devices[index].id)
        let queued = link.queued
        link.perform(link.subscription?.chunkRead(chunk, queued: queued) ?? [], feedEnd: server.feed.count)
        links[index] = link
    }

    private mutating func feed(_ index: Int) {
        guard var link = links[index], let position = link.feedPosition else { return }
        let frame = server.feed[position]
        // The feed delivers at least once: sometimes it doesn't move on.
        if Int.random(in: 0..<8, using: &generator) > 0 { link.feedPosition = position + 1 }
        let queued = link.queued
        let wasLive = link.subscription?.isLive ?? false
        link.perform(link.subscription?.received(frame, queued: queued) ?? [], feedEnd: server.feed.count)
        if wasLive && link.subscription?.isLive == false { events[.lagged, default: 0] += 1 }
        links[index] = link
    }

    // MARK: Writes

    private mutating func randomKey() -> DocumentKey {
        DocumentKey(collection: "Note", idText: "s:\(Int.random(in: 0..<3, using: &generator))")
    }

    private mutating func write(_ index: Int) {
        var operations: [Operation] = []
        for _ in 0...Int.random(in: 0...2, using: &generator) { operations.append(randomOperation()) }
        devices[index].write(operations, milliseconds: time + Int64(index * 7))
    }

    private mutating func randomOperation() -> Operation {
        let key = randomKey()
        let id = Value(keyText: key.idText) ?? .null
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
        case 6..<9:
            return Operation(collection: "Note", id: id, kind: .insert(["_id": id, "a": value, "c": ["x": value]]))
        case 9..<10: return Operation(collection: "Note", id: id, kind: .delete)
        case 10..<12: return update(["$unset": .document([field: ""])])
        case 12..<13 where !restores:
            return Operation(
                collection: "Note", id: .string("forbidden"), kind: .insert(["_id": "forbidden", "forbidden": true]))
        default:
            let value: Value = field == "c" ? ["x": value, "z": value] : value
            return update(["$set": .document([field: value])])
        }
    }
}
