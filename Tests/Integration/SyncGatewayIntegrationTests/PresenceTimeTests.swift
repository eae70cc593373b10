import DocumentModel
import SyncProtocol
import TestSupport
import Testing

/// How long changes of presence take, on a machine that does nothing else.
@Suite struct PresenceTimeTests {
    @Test func `a device without network is offline within the time of its lease and a second`() async throws {
        let lease = Duration.seconds(2)
        let fixture = try await GatewayFixture(presenceTTL: lease)
        let bob = ObjectId().hexString
        let ann = try await fixture.watcher(of: bob)
        let device = try await fixture.device(bob)
        #expect(try await ann.presence().state == "online")
        device.fallSilent()
        let start = ContinuousClock.now
        #expect(try await ann.presence().state == "offline")
        let time = ContinuousClock.now - start
        #expect(time <= lease + .seconds(1), "\(time)")
        // Networks stall for seconds: the connection stays for as long as a device may be silent.
        device.recover()
        #expect(try await ann.presence().state == "online")
        try await device.send(.ping)
        guard case .pong = try await device.next() else { throw Device.Unexpected(what: "no pong") }
        ann.close()
        device.close()
        fixture.stop()
    }
}
