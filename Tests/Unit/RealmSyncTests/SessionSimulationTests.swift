import Foundation
import RealmSimulation
import Testing

/// Plays random histories of each scenario. `PARTITA_SIMULATION_SEEDS` runs that many seeds instead of a few; a failure names its seed,
/// and prints what is left of its history when all steps are taken out that don't matter.
struct SessionSimulationTests {
    private static let seeds =
        ProcessInfo.processInfo.environment["PARTITA_SIMULATION_SEEDS"].flatMap { UInt64($0) } ?? 300

    @Test(arguments: RealmScenario.all.map(\.name))
    func `Realm clients and documents converge, and every addition counts once`(name: String) throws {
        let scenario = try #require(RealmScenario.all.first { $0.name == name })
        var events: [RealmSimulation.Event: Int] = [:]
        for seed in 0..<Self.seeds {
            let history = RealmScenario.history(seed: seed)
            let world = scenario.run(history)
            events.merge(world.events, uniquingKeysWith: +)
            guard let violation = world.violations.first else { continue }
            let trace = scenario.run(scenario.shrunk(history), isTraced: true).trace
            Issue.record("\(name), seed \(seed): \(violation)\n\(trace.joined(separator: "\n"))")
            return
        }
        // A simulation in which nothing happens proves nothing.
        for event in scenario.expected { #expect(events[event, default: 0] > 20, "\(event) is rare in \(name)") }
    }
}
