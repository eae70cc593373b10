import RealmTestClient
import SyncEngine
import Testing
import Vectors

/// The client with realm-core, message by message: what it has said to another server, it says to the gateway.
@Suite struct RealmTraceTests {
    @Test(arguments: RealmTrace.scenarios)
    func `a real client gets the answers on which it went on`(scenario: String) async throws {
        let fixture = try await GatewayFixture.shared()
        // Scenarios have the same partition, and objects with the same keys.
        let app = "trace-\(scenario)"
        try await RecordedApp.deploy(app, to: fixture)
        let other = fixture.partition()
        try await fixture.grant(.read, to: "ann", in: other, app: app)
        let ann = RealmClient("ann", in: other, of: fixture, app: app)
        try await RecordedApp.open(ann)
        ann.cut()
        try await RealmTraceReplay(try RealmTrace(scenario), app: app, of: fixture).run()
    }
}
