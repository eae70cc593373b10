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

    @Test func `the connections of a session that ended are closed, and those of its user's others stay`() async throws
    {
        let fixture = try await GatewayFixture.shared()
        let user = ObjectId().hexString, ended = ObjectId().hexString
        let phone = try await fixture.device(user, session: ended)
        let tablet = try await fixture.device(user, session: ObjectId().hexString)
        try await fixture.end(ended, of: user)
        let report = try await phone.error()
        #expect(report.code == .sessionEnded && report.action == .reauthenticate && report.partition == nil)
        #expect(try await phone.end().code == .policyViolation)
        try await tablet.send(.ping)
        guard case .pong = try await tablet.next() else { throw Device.Unexpected(what: "no pong") }

        let again = try await Device(port: fixture.port)
        try await again.send(.hello(.init(device: "phone", token: try fixture.token(user, session: ended))))
        #expect(try await again.error().code == .sessionEnded)
        #expect(try await again.end().code == .policyViolation)
        // Nor is a connection carried on with such a token.
        try await tablet.send(.token(accessToken: try fixture.token(user, session: ended)))
        #expect(try await tablet.error().code == .sessionEnded)
    }

    @Test func `the data API refuses a session that ended, and no other one`() async throws {
        let fixture = try await GatewayFixture.shared()
        let rule = #"{"roles": [{"name": "all", "apply_when": {}, "read": true, "write": true}]}"#
        var client = try await fixture.deploy("api-" + ObjectId().hexString, rules: ["default_rule": rule])
        client.session = ObjectId().hexString
        #expect(try await client.call("find", "Task").status == 200)
        try await fixture.end(client.session, of: client.user, app: client.app)
        try await eventually("the end is known") {
            let answer = try await client.call("find", "Task")
            return answer.status == 401 && answer.code == "InvalidSession"
        }
        client.session = ObjectId().hexString
        #expect(try await client.call("find", "Task").status == 200)
    }

    @Test func `a user has only so many connections, and others have theirs`() async throws {
        let fixture = try await GatewayFixture(connections: 3)
        let user = ObjectId().hexString
        var devices: [Device] = []
        for _ in 0..<3 { devices.append(try await fixture.device(user)) }
        let refused = try await Device(port: fixture.port)
        try await refused.send(.hello(.init(device: "one-more", token: try fixture.token(user))))
        let report = try await refused.error()
        #expect(report.code == .tooManyConnections && report.action == .retry && report.partition == nil)
        #expect(try await refused.end().code == .policyViolation)
        _ = try await fixture.device(ObjectId().hexString)
        devices.removeLast().close()
        let again = try await eventually("there is room again") {
            let device = try await Device(port: fixture.port)
            try await device.send(.hello(.init(device: "one-more", token: try fixture.token(user))))
            if case .welcome = try await device.next() { return device as Device? }
            device.close()
            return nil
        }
        again.close()
        for device in devices { device.close() }
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
