import DocumentModel
import DocumentStore
import Foundation
import Postgres
import Simulation
import SyncEngine
import TestSupport
import Testing

/// The histories of the simulation on Postgres: the store answers each call as the simulation's model did, so that what the simulation
/// proves holds for the store. `PARTITA_SIMULATION_STORE_SEEDS` plays that many seeds of each scenario instead of a few.
struct SimulatedHistoriesTests {
    private static let seeds =
        ProcessInfo.processInfo.environment["PARTITA_SIMULATION_STORE_SEEDS"].flatMap { UInt64($0) } ?? 3

    @Test(arguments: Scenario.all.map(\.name))
    func `the store answers as the simulation's model of it`(name: String) async throws {
        let scenario = try #require(Scenario.all.first { $0.name == name })
        var calls = 0
        for seed in 0..<Self.seeds {
            let history = scenario.run(Scenario.history(seed: seed), isRecorded: true).calls
            calls += history.count
            try await StoreFixture.withClient(settings: ["synchronous_commit": "off"]) { client, _ in
                let replay = StoreReplay(client)
                for (place, call) in history.enumerated() {
                    guard let difference = try await replay.play(call) else { continue }
                    Issue.record("\(name), seed \(seed), call \(place): \(difference)")
                    return
                }
                #expect(try await StoreCheck(SimulatedWorld.storage, on: client).findings().map { "\($0)" } == [])
            }
        }
        #expect(calls > 50 * Self.seeds, "histories in which nothing happens prove nothing")
    }
}
