import DocumentModel
import SyncEngine

/// Devices, gateways, relays, permissions, one store, and everything that can happen between them, in an order that numbers decide.
public struct SimulatedWorld {
    var server: SimulatedServer
    var devices: [SimulatedDevice]
    var permissions: SimulatedPermissions
    var gateways: [SimulatedGateway] = []
    var relays: [SimulatedRelay] = []
    var relayLease = SimulatedRelayLease()
    /// How long a relay's lease lasts, in milliseconds.
    let relayLeaseTime: Int64
    /// The topic of changes. It outlives a restore.
    var topic: [TopicEntry] = []
    /// Whether heads are lost on their way to the gateways.
    var losesHeads = false
    /// What was published of it.
    var published: Set<Revision> = []
    /// The gateways in the registry.
    var registry: Set<Int> = []
    /// How many there were.
    var gatewayCount = 0
    var relayCount = 0
    var linkCount = 0
    /// Increments of the counter that devices made, by device id.
    var increments = 0
    /// How many changesets were written.
    var written = 0
    /// Every token that was pushed onto the log.
    var tokens: [String] = []
    /// Increments of the tally in changesets that the server has acknowledged, by the changesets' clocks. Unlike the counter's they all
    /// look the same.
    var tallied: [ChangesetName: Int] = [:]
    /// Tokens that went with a device's state when the device was restored from a backup.
    var goneTokens: Set<String> = []
    /// How often the interesting cases happened.
    public internal(set) var events: [Event: Int] = [:]
    /// What happened that never may.
    public internal(set) var violations: [String] = []
    /// What happened, in words, if it is written down.
    public internal(set) var trace: [String] = []
    let scenario: Scenario
    let isTraced: Bool
    var links: [SimulatedLink?]
    var backup: SimulatedServer?
    var generator = SeededGenerator(seed: 0)
    static let startTime: Int64 = 1_700_000_000_000
    var time = Self.startTime
    /// How far the devices' wall clocks are ahead, in milliseconds.
    var clockOffsets: [Int64]
    /// When changesets were written, and how far the device's clock was ahead then, by their clocks.
    var writtenAt: [ChangesetName: (time: Int64, offset: Int64)] = [:]
    /// How many documents there may be besides the counters.
    let notes: Int
    var deviceBackups: [SimulatedDevice]
    /// Uploads of lost connections, which their gateway has received, but not committed yet.
    var strays: [SimulatedLink.Received] = []

    /// What the topic of changes has.
    enum TopicEntry: Sendable {
        /// A change, and whether the next one belongs to the same commit.
        case change(DocumentChange, continues: Bool)
        /// A change that is only named.
        case large(Revision)
        case head(Revision)
    }

    public enum Event: CaseIterable, Sendable {
        case deliveredEarly, answeredAgain, disconnected, restored, cloned, rejected, gap, forked, lagged, versionGap,
            revoked
        case straying, tombstonesDropped, servedFromStart, catchUpResumed, catchUpAbandoned
        case deviceRestored, sessionEnded, suspended, feedLost, feedRepeated, moved, moveRefused, lostWrite
        case receipt, lapsed, reset, begunAgain, gatewayLost, relayLeads, relayLost, markRefused, publishedAgain
        case sharedGrantEnded, closed, expired, undecided
    }

    static let counter = DocumentKey(collection: "Counter", idText: "s:counter")
    static let tally = DocumentKey(collection: "Counter", idText: "s:tally")

    /// What happened on the server, if it was recorded.
    public var calls: [ServerCall] { server.calls ?? [] }
    /// What happened in the tables of permissions, if it was recorded.
    public var permissionsCalls: [PermissionsCall] { permissions.calls ?? [] }
    /// How the server stores the documents.
    public static let storage = SimulatedServer.storage
    /// The user of a device.
    public static func user(of device: String) -> String { SimulatedServer.user(of: device) }
    /// The partition that everything happens in.
    public static let partition = SimulatedServer.partition

    init(_ scenario: Scenario, isTraced: Bool, isRecorded: Bool) {
        server = SimulatedServer(isRecorded: isRecorded)
        self.scenario = scenario
        self.isTraced = isTraced
        notes = max(scenario.filled, 3)
        let count = scenario.devices + scenario.readers
        devices = (0..<count).map { index in
            // Where rights are revoked, the first user has another device.
            let isSecond = scenario.mishaps.contains(.revocation) && index == scenario.devices - 1
            let id = isSecond ? "device-0/second" : "device-\(index)"
            return SimulatedDevice(id: id, user: SimulatedServer.user(of: id))
        }
        deviceBackups = devices
        clockOffsets = Array(repeating: 0, count: count)
        links = Array(repeating: nil, count: count)
        permissions = SimulatedPermissions(
            validity: scenario.watchesLeases ? 30 : 1 << 40, lifetime: scenario.mishaps.contains(.expiry) ? 50 : nil,
            isRecorded: isRecorded)
        relayLeaseTime = scenario.mishaps.contains(.relayHandOver) ? 20 : 1 << 40
        // The counter exists from the start, in every backup.
        let founding = server.begin(
            Changeset(
                version: 1, clock: HybridTime(milliseconds: 1),
                operations: [
                    Operation(
                        collection: "Counter", id: "counter",
                        kind: .insert(Self.member(["_id": "counter", "total": .int64(0), "log": []]))),
                    Operation(
                        collection: "Counter", id: "tally",
                        kind: .insert(Self.member(["_id": "tally", "total": .int64(0)]))),
                ] + (0..<scenario.filled).map { Self.note($0) }), device: "founder", at: HybridTime(milliseconds: 1),
            mayWrite: true)
        _ = server.finish(founding, mayWrite: true)
        backup = server.backUp()
        if scenario.mishaps.contains(.sharedRules) {
            permissions.changeRules(to: .write, by: 0, now: time)
        } else {
            for device in devices { permissions.decide(.write, for: device.user, by: 0, now: time) }
        }
        for _ in 0..<2 { gateways.append(newGateway()) }
        for _ in 0..<(scenario.mishaps.contains(.relayHandOver) ? 2 : 1) {
            relayCount += 1
            relays.append(SimulatedRelay(holder: relayCount))
        }
        permissions.sendHeartbeats(now: time)
        for place in gateways.indices { while advance(gateway: place, withFaults: false) {} }
    }

    /// All devices connect, and everything in flight arrives.
    mutating func settle() {
        if isTraced { trace.append("everything arrives") }
        generator = SeededGenerator(seed: 1)
        for place in gateways.indices { gateways[place].isCutOff = false }
        for place in relays.indices { relays[place].isStopped = false }
        permissions.continueAll()
        for index in links.indices where links[index]?.isStuck == true { stopOrContinueLoop(index) }
        permissions.lifetime = nil
        for index in 0..<(scenario.devices + scenario.readers) {
            permissions.decide(.write, for: "device-\(index)", by: 0, now: time)
        }
        // A relay that has ended leads no longer.
        if scenario.mishaps.contains(.relayHandOver) { time += relayLeaseTime }
        rest()
        if scenario.mishaps.contains(.feedFaults) { loseLast() } else { exceedHeld() }
        // Gateways that have ended don't answer.
        if permissions.hasOpenFences {
            time += permissions.validity + 2 * SimulatedPermissions.clockMargin
            rest()
        }
    }

    /// After the store was read for a device to the end, and before it is sent that, more changes come than are held for it, and no other
    /// follows them. One that reads has everything to read, and its socket is full.
    private mutating func exceedHeld() {
        let index = scenario.readers > 0 ? scenario.devices : 0
        if scenario.readers > 0 {
            reinstall(index)
        } else {
            disconnect(index)
            connect(index)
        }
        while links[index]?.late.last?.isFinal != true, advanceUnflushed(index) {}
        for _ in 0..<4 { writeOnServer() }
        for place in relays.indices { while advance(relay: place, withFaults: false) {} }
        for place in gateways.indices { while advance(gateway: place, withFaults: false) {} }
        for _ in 0..<10 where !advanceUnflushed(index) { break }
        rest()
    }

    /// Gateways lose the last change that is published: only the head shows it, or nothing at all.
    private mutating func loseLast() {
        writeOnServer()
        for place in relays.indices { while advance(relay: place, withFaults: false) {} }
        losesHeads = server.head.number % 2 == 0
        if losesHeads { for place in relays.indices { publishHeads(place) } }
        for place in gateways.indices { gateways[place].changesPosition = topic.count }
        rest()
    }

    /// What makes a relay forget a head that it hasn't published, or a gateway not know what was delivered before it began.
    private static let headless: Set<Mishap> = [
        .relayHandOver, .gatewayLost, .serverRestored, .serverRestoredUnderSockets,
    ]

    private mutating func rest() {
        for _ in 0..<20_000 {
            var isBusy = false
            for index in devices.indices {
                // A device that took a new id connects again.
                if links[index] == nil { connect(index) }
                tryAgain(index)
                isBusy = advance(index, withFaults: false) || isBusy
            }
            if !strays.isEmpty {
                commitStray()
                isBusy = true
            }
            for place in relays.indices { isBusy = advance(relay: place, withFaults: false) || isBusy }
            for place in gateways.indices { isBusy = advance(gateway: place, withFaults: false) || isBusy }
            isBusy = advancePermissions(withFaults: false) || isBusy
            if isBusy { continue }
            // Nothing else shows that changes were lost that no other followed. Without losses it isn't needed.
            guard scenario.mishaps.contains(.feedFaults) else { return }
            let count = topic.count
            if !losesHeads { for place in relays.indices { publishHeads(place) } }
            if topic.count > count { continue }
            var isMissed = false
            for place in gateways.indices {
                for _ in 0..<2 { isMissed = lookAtHeads(place) || isMissed }
            }
            if !isMissed { return }
            if !losesHeads, scenario.mishaps.isDisjoint(with: Self.headless) {
                violations.append("no head has told what was lost")
            }
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
        case 42..<46: tryAgain(index)
        case 46..<58: if let mishap = scenario.choices.randomElement(using: &generator) { happen(mishap, to: index) }
        default: break
        }
        // Most of what happens is that frames arrive.
        for _ in 0..<4 {
            _ = advance(Int.random(in: devices.indices, using: &generator), withFaults: true)
        }
        for _ in 0..<2 {
            _ = advance(relay: Int.random(in: relays.indices, using: &generator), withFaults: true)
            _ = advance(gateway: Int.random(in: gateways.indices, using: &generator), withFaults: true)
        }
        if scenario.watchesLeases || !permissions.questions.isEmpty { _ = advancePermissions(withFaults: true) }
    }

    mutating func happen(_ mishap: Mishap, to index: Int) {
        switch mishap {
        case .serverRestored: saveOrRestoreServer(underSockets: false)
        case .serverRestoredUnderSockets: saveOrRestoreServer(underSockets: true)
        case .deviceRestored: saveOrRestoreDevice(index)
        case .deviceCloned: clone(index)
        case .revocation: decideAgain(index)
        case .suspension:
            if Bool.random(using: &generator) { return stopOrContinueLoop(index) }
            gateways[Int.random(in: gateways.indices, using: &generator)].isCutOff.toggle()
        case .gatewayLost: loseGateway(Int.random(in: gateways.indices, using: &generator))
        case .relayHandOver: disturb(relay: Int.random(in: relays.indices, using: &generator))
        case .straying: if !strays.isEmpty { commitStray() }
        case .tombstonesDropped: if server.dropTombstones() { happened(.tombstonesDropped) }
        case .feedFaults: for place in relays.indices { publishHeads(place) }
        case .moves: move(index)
        case .clockJumps: clockOffsets[index] = Int64.random(in: -100_000...100_000, using: &generator)
        case .sharedRules: changeRules()
        case .expiry: time += Int64.random(in: 1...40, using: &generator)
        }
    }

    mutating func happened(_ event: Event) { events[event, default: 0] += 1 }
}
