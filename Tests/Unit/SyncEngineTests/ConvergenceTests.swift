import DocumentModel
import Foundation
import SyncEngine
import Testing

/// `PARTITA_SIMULATION_SEEDS` runs that many seeds instead of a few; a failure names its seed.
struct ConvergenceTests {
    private let count = ProcessInfo.processInfo.environment["PARTITA_SIMULATION_SEEDS"].flatMap { UInt64($0) }

    @Test func `devices converge on the server's documents, whatever happens on the way`() {
        var lostWrites = 0
        let events = run(seeds: 100, devices: 4, mishaps: [.straying]) { world, seed in
            checkExactly(world, seed: seed)
            lostWrites += world.devices.reduce(0) { $0 + $1.lostWrites }
            // A rejected increment may leave the shown value before the rejection arrives.
            let hasFlickered = world.devices.contains { $0.flickers > 0 && !$0.hasRejectedIncrements }
            #expect(!hasFlickered, "seed \(seed): the counter that is shown went back")
        }
        // A simulation in which nothing happens proves nothing.
        expect(events, [.answeredAgain, .disconnected, .rejected, .lagged, .straying])
        #expect(events[.forked] == nil)
        #expect(lostWrites > 20)
    }

    @Test func `devices converge again after the server was restored from a backup`() {
        let events = run(seeds: 100, devices: 2, readers: 2, filled: 24, mishaps: [.serverRestored]) {
            checkExactly($0, seed: $1)
        }
        expect(events, [.restored, .rejected, .catchUpResumed, .catchUpAbandoned])
        #expect(events[.forked] == nil)
    }

    @Test func `devices converge after rights were revoked and granted again`() {
        let events = run(seeds: 60, devices: 3, mishaps: [.revocation, .straying]) { checkTokens($0, seed: $1) }
        expect(events, [.revoked, .rejected])
    }

    @Test func `devices that were restored from a backup neither lose nor duplicate a write`() {
        let events = run(seeds: 100, devices: 3, mishaps: [.deviceRestored, .straying]) {
            checkTokens($0, seed: $1)
            checkTally($0, seed: $1)
        }
        expect(events, [.restored, .forked, .answeredAgain, .straying])
    }

    @Test func `copies of a device neither lose nor duplicate a write, though they write the same`() {
        let events = run(seeds: 100, devices: 3, mishaps: [.deviceCloned, .straying]) {
            checkTokens($0, seed: $1)
            checkTally($0, seed: $1)
        }
        expect(events, [.cloned, .forked, .straying])
    }

    @Test func `devices that are older than the tombstones lose what was deleted, and none of their own writes`() {
        let events = run(seeds: 200, devices: 3, mishaps: [.tombstonesDropped, .straying]) {
            checkExactly($0, seed: $1)
        }
        expect(events, [.tombstonesDropped, .servedFromStart])
    }

    @Test func `a server that forgets how old its tombstones are is detected`() {
        let found = (0..<100 as Range<UInt64>).contains { seed in
            isDiverged(
                SimulatedWorld(seed: seed, devices: 3, mishaps: [.tombstonesDropped], forgetsTombstoneHorizon: true))
        }
        #expect(found)
    }

    @Test func `a server that continues a catch-up across a restore is detected`() {
        let found = (0..<1000 as Range<UInt64>).contains { seed in
            isDiverged(
                SimulatedWorld(
                    seed: seed, devices: 2, readers: 2, filled: 24, mishaps: [.serverRestored],
                    resumesAcrossRestores: true))
        }
        #expect(found)
    }

    /// Whether a device shows something else than the server has, after everything arrived.
    private func isDiverged(_ world: SimulatedWorld) -> Bool {
        var world = world
        world.run(steps: 250)
        world.settle()
        let expected = world.server.documents.mapValues(\.document)
        return world.devices.contains { $0.view != expected }
    }

    private func run(
        seeds: UInt64, devices: Int, readers: Int = 0, filled: Int = 0, mishaps: Set<SimulatedWorld.Mishap>,
        check: (SimulatedWorld, UInt64) -> Void
    ) -> [SimulatedWorld.Event: Int] {
        var events: [SimulatedWorld.Event: Int] = [:]
        for seed in 0..<(count ?? seeds) {
            var world = SimulatedWorld(seed: seed, devices: devices, readers: readers, filled: filled, mishaps: mishaps)
            world.run(steps: 250)
            world.settle()
            checkConvergence(world, seed: seed)
            check(world, seed)
            events.merge(world.events, uniquingKeysWith: +)
        }
        return events
    }

    private func expect(_ events: [SimulatedWorld.Event: Int], _ expected: [SimulatedWorld.Event]) {
        #expect(events[.versionGap] == nil)
        for event in expected { #expect(events[event, default: 0] > 20, "\(event) is rare") }
    }

    private func checkConvergence(_ world: SimulatedWorld, seed: UInt64) {
        let expected = world.server.documents.mapValues(\.document)
        for device in world.devices {
            let isQuiet = device.partition.pending.isEmpty && device.partition.checkpoint == world.server.head
            #expect(isQuiet, "seed \(seed): \(device.id) is not done")
            #expect(device.view == expected, "seed \(seed): \(device.id) shows something else")
        }
    }

    /// Every increment that wasn't rejected counts once.
    private func checkExactly(_ world: SimulatedWorld, seed: UInt64) {
        let log = log(of: world, seed: seed)
        let rejected = world.devices.flatMap(\.rejected).flatMap(SimulatedWorld.tokens)
        #expect(log.count == world.increments - rejected.count, "seed \(seed): increments were lost or doubled")
    }

    /// No increment counts twice; one that doesn't count was rejected, or was lost with the device that made it.
    private func checkTokens(_ world: SimulatedWorld, seed: UInt64) {
        var known = Set(log(of: world, seed: seed)).union(world.goneTokens)
        known.formUnion(world.devices.flatMap(\.rejected).flatMap(SimulatedWorld.tokens))
        #expect(known.isSuperset(of: world.tokens), "seed \(seed): increments were lost")
    }

    /// Acknowledged writes are applied once, even if one increment looks like another.
    private func checkTally(_ world: SimulatedWorld, seed: UInt64) {
        let total = world.server.documents[SimulatedWorld.tally]?.document["total"]?.int64Value
        #expect(total == Int64(world.tallied.values.reduce(0, +)), "seed \(seed): acknowledged, and not applied once")
    }

    private func log(of world: SimulatedWorld, seed: UInt64) -> [String] {
        let counter = world.server.documents[SimulatedWorld.counter]?.document
        let log = counter?["log"]?.arrayValue?.compactMap(\.stringValue) ?? []
        #expect(Set(log).count == log.count, "seed \(seed): an increment counts twice")
        #expect(counter?["total"]?.int64Value == Int64(log.count), "seed \(seed): total and log differ")
        return log
    }
}
