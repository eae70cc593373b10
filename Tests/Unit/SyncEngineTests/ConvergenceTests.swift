import Foundation
import Simulation
import Testing

/// Plays random histories of each scenario. `PARTITA_SIMULATION_SEEDS` runs that many seeds instead of a few; a failure names its seed,
/// and prints what is left of its history when all steps are taken out that don't matter.
struct ConvergenceTests {
    private static let seeds =
        ProcessInfo.processInfo.environment["PARTITA_SIMULATION_SEEDS"].flatMap { UInt64($0) } ?? 100

    @Test(arguments: Scenario.all.map(\.name))
    func `devices and server converge, and every write counts once, whatever happens on the way`(name: String) throws {
        let scenario = try #require(Scenario.all.first { $0.name == name })
        var events: [SimulatedWorld.Event: Int] = [:]
        for seed in 0..<Self.seeds {
            let history = Scenario.history(seed: seed)
            let world = scenario.run(history)
            events.merge(world.events, uniquingKeysWith: +)
            guard let violation = world.violations.first else { continue }
            let shrunk = scenario.shrunk(history)
            let trace = scenario.run(shrunk, isTraced: true).trace
            Issue.record("\(name), seed \(seed): \(violation)\n\(trace.joined(separator: "\n"))")
            return
        }
        // A simulation in which nothing happens proves nothing.
        for event in scenario.expected { #expect(events[event, default: 0] > 20, "\(event) is rare in \(name)") }
    }
}
