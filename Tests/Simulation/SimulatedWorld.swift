import DocumentModel
import SyncEngine

/// Devices, one server, and everything that can happen between them, in an order that numbers decide.
public struct SimulatedWorld: Sendable {
    var server: SimulatedServer
    var devices: [SimulatedDevice]
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
    var time: Int64 = 1_700_000_000_000
    /// How far the devices' wall clocks are ahead, in milliseconds.
    var clockOffsets: [Int64]
    /// When changesets were written, and how far the device's clock was ahead then, by their clocks.
    var writtenAt: [ChangesetName: (time: Int64, offset: Int64)] = [:]
    /// How many documents there may be besides the counters.
    let notes: Int
    var deviceBackups: [SimulatedDevice]
    /// Uploads of lost connections, which their gateway has received, but not committed yet.
    var strays: [(device: String, changeset: Changeset, time: HybridTime)] = []

    public enum Event: CaseIterable, Sendable {
        case answeredAgain, disconnected, restored, cloned, rejected, gap, forked, lagged, versionGap, revoked
        case straying, tombstonesDropped, servedFromStart, catchUpResumed, catchUpAbandoned
        case deviceRestored, sessionEnded, suspended, feedLost, feedRepeated, moved, moveRefused, lostWrite
    }

    static let counter = DocumentKey(collection: "Counter", idText: "s:counter")
    static let tally = DocumentKey(collection: "Counter", idText: "s:tally")

    /// What happened on the server, if it was recorded.
    public var calls: [ServerCall] { server.calls ?? [] }
    /// How the server stores the documents.
    public static let storage = SimulatedServer.storage
    /// The partition that everything happens in.
    public static let partition = SimulatedServer.partition

    init(_ scenario: Scenario, isTraced: Bool, isRecorded: Bool) {
        server = SimulatedServer(isRecorded: isRecorded)
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
        backup = server.backUp()
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

    mutating func happen(_ mishap: Mishap, to index: Int) {
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

    mutating func happened(_ event: Event) { events[event, default: 0] += 1 }
}
