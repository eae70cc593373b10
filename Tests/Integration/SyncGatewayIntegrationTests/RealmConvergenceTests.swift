import DocumentModel
import EventLoop
import RealmClientModel
import RealmSync
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

    @Test func `an upload is integrated beside others who write the same object without a pause`() async throws {
        let fixture = try await GatewayFixture.shared(), app = "contended", partition = fixture.partition()
        try await RecordedApp.deploy(app, to: fixture)
        for user in ["ann", "bob"] { try await fixture.grant(.write, to: user, in: partition, app: app) }
        let ann = RealmClient("ann", in: partition, of: fixture, app: app)
        try await RecordedApp.open(ann)
        // Another gateway, which appends to the history what the others do.
        let bob = RealmClient("bob", in: partition, of: fixture, app: app)
        bob.port = try await fixture.addGateway()
        try await RecordedApp.open(bob)
        let key = ObjectKey(table: "Person", id: .string(ExactText("contended \(partition.text)")))
        try ann.write((key, ["visits": .int64(0)]))
        try await ann.upload()

        let isOver = Locked(false), uploads = 5
        let people = fixture.store.collection("Person", database: "chat", app: app)
        let written = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    var count = 0
                    while !isOver.withLock({ $0 }) {
                        _ = try await people.updateOne(["_id": key.id.value], ["$inc": ["visits": 1]])
                        count += 1
                    }
                    return count
                }
            }
            defer { isOver.withLock { $0 = true } }
            for _ in 0..<uploads {
                try ann.edit { try $0.edit(key, "visits", nil, .addInteger(1)) }
                let start = ContinuousClock.now
                try await ann.upload()
                #expect(ContinuousClock.now - start < .seconds(10))
            }
            isOver.withLock { $0 = true }
            return try await group.reduce(0, +)
        }
        #expect(written > 0)
        for client in [ann, bob] {
            try await client.catchUp()
            #expect(client.errors.isEmpty)
            #expect(client.objects.objects[key]?["visits"]?.int64Value == Int64(written + uploads))
        }
    }
}
