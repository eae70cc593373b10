import DocumentModel
import SyncProtocol
import TestSupport
import Testing
import WebSocket

@Suite struct HelloTests {
    @Test func `a device that is refused gets the reason, and is disconnected`() async throws {
        let fixture = try await GatewayFixture.shared()
        let refusals: [(SyncErrorCode, String, String)] = [
            (.badToken, "rchat", "forged"),
            (.badToken, "rchat", try fixture.token("ann", app: "other")),
            (.tokenExpired, "rchat", try fixture.token("ann", lifetime: -600)),
            (.unknownApp, "nowhere", try fixture.token("ann", app: "nowhere")),
        ]
        for (code, app, token) in refusals {
            let device = try await Device(port: fixture.port, app: app)
            try await device.send(.hello(.init(device: "phone", token: token)))
            #expect(try await device.error().code == code)
            #expect(try await device.end().code == .policyViolation)
        }
    }

    @Test func `a malformed frame has a code`() async throws {
        let fixture = try await GatewayFixture.shared()
        let first = try await Device(port: fixture.port)
        try await first.send(.ping)
        #expect(try await first.error().code == .helloExpected)

        let broken = try await fixture.device("ann")
        broken.send(text: "{")
        #expect(try await broken.error().code == .badFrame)
        #expect(try await broken.end().code == .policyViolation)
    }

    @Test func `a device needs the subprotocol`() async throws {
        let fixture = try await GatewayFixture.shared()
        let error = await #expect(throws: WebSocketError.self) {
            _ = try await Device(port: fixture.port, subprotocol: nil)
        }
        #expect(error?.code == .refused)
    }

    @Test func `a graceful stop closes with 1012`() async throws {
        let fixture = try await GatewayFixture()
        let device = try await fixture.device("ann")
        fixture.stop()
        #expect(try await device.end().code == .serviceRestart)
    }
}
