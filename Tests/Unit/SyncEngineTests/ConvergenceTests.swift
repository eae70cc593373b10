import DocumentModel
import Foundation
import SyncEngine
import Testing

/// `PARTITA_SIMULATION_SEEDS` runs that many seeds instead of a few; a failure names its seed.
struct ConvergenceTests {
    private let count = ProcessInfo.processInfo.environment["PARTITA_SIMULATION_SEEDS"].flatMap { UInt64($0) }

    @Test func `devices converge on the server's documents, whatever happens on the way`() {
        var events: [SimulatedWorld.Event: Int] = [:]
        var lostWrites = 0
        for seed in 0..<(count ?? 100) {
            var world = SimulatedWorld(seed: seed, devices: 4)
            world.run(steps: 250)
            world.settle()
            check(world, seed: seed)
            events.merge(world.events, uniquingKeysWith: +)
            lostWrites += world.devices.reduce(0) { $0 + $1.lostWrites }
            // A rejected increment may leave what is shown before the rejection is heard.
            let hasFlickered = world.devices.contains { $0.flickers > 0 && !$0.hasRejectedIncrements }
            #expect(!hasFlickered, "seed \(seed): the counter that is shown went back")
        }
        // A simulation in which nothing happens proves nothing.
        for event in [SimulatedWorld.Event.answeredAgain, .disconnected, .rejected, .lagged] {
            #expect(events[event, default: 0] > 20, "\(event) is rare")
        }
        #expect(lostWrites > 20)
    }

    @Test func `devices converge again after the server was restored from a backup`() {
        var restores = 0
        for seed in 0..<(count ?? 60) {
            var world = SimulatedWorld(seed: seed, devices: 3, restores: true)
            world.run(steps: 250)
            world.settle()
            check(world, seed: seed)
            restores += world.events[.restored, default: 0]
        }
        #expect(restores > 20)
    }

    private func check(_ world: SimulatedWorld, seed: UInt64) {
        let expected = world.server.documents.mapValues(\.document)
        for device in world.devices {
            let isQuiet = device.partition.pending.isEmpty && device.partition.checkpoint == world.server.head
            #expect(isQuiet, "seed \(seed): \(device.id) is not done")
            #expect(device.view == expected, "seed \(seed): \(device.id) shows something else")
        }
        let counter = expected[SimulatedWorld.counter]
        let rejected = world.devices.flatMap(\.rejected).flatMap(\.operations).count {
            $0.key == SimulatedWorld.counter
        }
        let total = counter?["total"]?.int64Value
        #expect(total == Int64(world.increments - rejected), "seed \(seed): increments were lost or doubled")
        let log = counter?["log"]?.arrayValue?.compactMap(\.stringValue) ?? []
        #expect(
            Set(log).count == log.count && log.count == world.increments - rejected, "seed \(seed): the log is wrong")
    }
}
