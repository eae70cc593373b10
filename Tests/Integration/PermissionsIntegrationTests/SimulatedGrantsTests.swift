import DocumentModel
import DocumentStore
import EventLoop
import Grants
import Permissions
import Postgres
import ServiceEngines
import Simulation
import SyncEngine
import TestSupport
import Testing

/// The histories of the simulation on Postgres: the tables of grants and fences answer each call as the simulation's model of them did,
/// so that what the simulation proves about revocations holds for the SQL.
struct SimulatedGrantsTests {
    private static let loops = LoopGroup(1)

    @Test(arguments: Scenario.all.filter { $0.mishaps.contains(.revocation) }.map(\.name))
    func `the tables answer as the simulation's model of them`(name: String) async throws {
        let scenario = try #require(Scenario.all.first { $0.name == name })
        let url = try await TestEngines.shared().makeDatabase()
        var configuration = PostgresConfiguration(url: url)
        configuration.settings["synchronous_commit"] = "off"
        try await PostgresClient.withClient(configuration, on: Self.loops) { client in
            try await DocumentStore.migrations.apply(on: client)
            try await ShutOutTable.migrations.apply(on: client)
            try await PermissionsMigrations.all.apply(on: client)
            try await GatewayRegistry.migrations.apply(on: client)
            var decisions = 0, receipts = 0, lapses = 0
            for seed in 0..<UInt64(30) {
                let calls = scenario.run(Scenario.history(seed: seed), isRecorded: true).permissionsCalls
                var replay = try await PermissionsReplay(on: client)
                for (place, call) in calls.enumerated() {
                    switch call {
                    case .decide: decisions += 1
                    case .writeReceipts(_, _, let written):
                        receipts += written.count
                        lapses += written.reduce(0) { $0 + $1.lapsed.count }
                    default: break
                    }
                    guard let difference = try await replay.play(call) else { continue }
                    Issue.record("\(name), seed \(seed), call \(place): \(difference)")
                    return
                }
            }
            #expect(
                decisions > 150 && receipts > 10 && lapses > 20,
                "\(decisions) decisions, \(receipts) receipts, \(lapses) lapses: histories in which nothing happens prove nothing"
            )
        }
    }
}
