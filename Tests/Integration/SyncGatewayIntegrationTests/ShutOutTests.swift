import DocumentModel
import EventTopics
import ServiceEngines
import SyncProtocol
import TestSupport
import Testing

/// Users whose account is disabled or deleted while their access tokens are still good.
@Suite struct ShutOutTests {
    @Test(arguments: [AuthEvent.Kind.userDisabled, .userDeleted])
    func `a user who is shut out is disconnected, and others stay`(_ kind: AuthEvent.Kind) async throws {
        let fixture = try await GatewayFixture.shared()
        let user = ObjectId().hexString
        let device = try await fixture.device(user)
        let other = try await fixture.device("ann")
        try await fixture.tell(kind, of: user)
        let report = try await device.error()
        #expect(report.code == .userDisabled && report.action == .reauthenticate && report.partition == nil)
        #expect(try await device.end().code == .policyViolation)
        try await other.send(.ping)
        guard case .pong = try await other.next() else { throw Device.Unexpected(what: "no pong") }

        let again = try await Device(port: fixture.port)
        try await again.send(.hello(.init(device: "phone", token: try fixture.token(user))))
        #expect(try await again.error().code == .userDisabled)
        #expect(try await again.end().code == .policyViolation)
        guard kind == .userDisabled else { return }
        try await fixture.tell(.userEnabled, of: user)
        try await eventually("the user is welcome again") {
            let device = try await Device(port: fixture.port)
            defer { device.close() }
            try await device.send(.hello(.init(device: "phone", token: try fixture.token(user))))
            if case .welcome = try await device.next() { return true } else { return false }
        }
    }

    @Test func `a user who is shut out is refused by the data API until enabled again`() async throws {
        let fixture = try await GatewayFixture.shared()
        let rule = #"{"roles": [{"name": "all", "apply_when": {}, "read": true, "write": true}]}"#
        let client = try await fixture.deploy("api-" + ObjectId().hexString, rules: ["default_rule": rule])
        #expect(try await client.call("find", "Task").status == 200)
        let changes: [(AuthEvent.Kind, status: Int, code: String?)] = [
            (.userDisabled, 403, "UserDisabled"), (.userEnabled, 200, nil), (.userDeleted, 401, "InvalidSession"),
        ]
        for (kind, status, code) in changes {
            try await fixture.tell(kind, of: client.user, app: client.app)
            try await eventually("\(kind) is known") {
                let answer = try await client.call("find", "Task")
                return answer.status == status && answer.code == code
            }
        }
    }
}
