import DocumentModel
import SyncProtocol
import TestSupport
import Testing

@Suite struct PresenceTests {
    /// A device of `ann` that watches a user.
    private func watcher(of user: String, _ fixture: GatewayFixture) async throws -> Device {
        let device = try await fixture.device("ann")
        try await watch([user], device)
        return device
    }

    private func watch(_ users: [String], _ device: Device) async throws {
        try await device.send(.presence(.init(state: "online", watch: users)))
        // Whoever comes after the pong is watched.
        try await device.send(.ping)
        guard case .pong = try await device.next() else { throw Device.Unexpected(what: "no pong") }
    }

    private func report(_ device: Device) async throws -> GatewayFrame.PresenceReport {
        let frame = try await device.next()
        guard case .presence(let report) = frame else { throw Device.Unexpected(what: "\(frame)") }
        return report
    }

    @Test func `who watches a user hears the user come, say something and go`() async throws {
        let fixture = try await GatewayFixture.shared()
        let bob = ObjectId().hexString
        let ann = try await watcher(of: bob, fixture)
        let device = try await fixture.device(bob)
        var heard = try await report(ann)
        #expect(heard.user == bob && heard.state == "online" && heard.data == nil)
        // What is taken for granted isn't told.
        try await device.send(.presence(.init(state: "online")))
        try await device.send(.presence(.init(state: "away", data: ["until": "five"])))
        heard = try await report(ann)
        #expect(heard.user == bob && heard.state == "away" && heard.data == ["until": "five"])
        device.close()
        heard = try await report(ann)
        #expect(heard.user == bob && heard.state == "offline")
        ann.close()
    }

    @Test func `who watches somebody else hears no more of those before`() async throws {
        let fixture = try await GatewayFixture.shared()
        let bob = ObjectId().hexString, cid = ObjectId().hexString, eve = ObjectId().hexString
        let ann = try await watcher(of: bob, fixture), other = try await watcher(of: bob, fixture)
        try await watch([cid, eve, eve], ann)
        let device = try await fixture.device(bob)
        // What comes of Bob has come to both by now.
        #expect(try await report(other).user == bob)
        let last = try await fixture.device(eve)
        #expect(try await report(ann).user == eve)
        for device in [ann, other, device, last] { device.close() }
    }

    @Test func `a device whose network is gone is missed within the time of its lease and a second`() async throws {
        let lease = Duration.seconds(2)
        let fixture = try await GatewayFixture(presenceTTL: lease)
        let bob = ObjectId().hexString
        let ann = try await watcher(of: bob, fixture)
        let device = try await fixture.device(bob)
        #expect(try await report(ann).state == "online")
        device.fallSilent()
        let start = ContinuousClock.now
        #expect(try await report(ann).state == "offline")
        let time = ContinuousClock.now - start
        #expect(time <= lease + .seconds(1), "\(time)")
        ann.close()
        device.close()
        fixture.stop()
    }
}
