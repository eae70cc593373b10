import RealmTestClient
import TestSupport
import Testing

/// Histories of Realm clients by seed, on real engines.
@Suite struct RealmConvergenceTests {
    @Test func `clients of two gateways and the documents converge, through cuts, snapshots and trimming`() async throws
    {
        let fixture = try await GatewayFixture.shared(), app = "converging"
        try await RecordedApp.deploy(app, to: fixture)
        let ports = [fixture.port, try await fixture.addGateway()]
        for port in ports {
            let partition = fixture.partition()
            try await fixture.grant(.write, to: "ann", in: partition, app: app)
            let probe = RealmClient("ann", in: partition, of: fixture, app: app)
            probe.port = port
            try await RecordedApp.open(probe)
            probe.cut()
        }
        for seed in 1...60 as ClosedRange<UInt64> {
            let world = try await RealmWorld(fixture, ports: ports, app: app, seed: seed)
            do {
                try await world.run(steps: 60)
                for violation in try await world.violations() { Issue.record("seed \(seed): \(violation)") }
            } catch {
                Issue.record("seed \(seed): \(error)")
            }
        }
    }
}
