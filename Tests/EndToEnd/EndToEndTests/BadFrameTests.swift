import AccessTokens
import DocumentModel
import Foundation
import Secrets
import SyncProtocol
import TestSupport
import Testing

extension EndToEnd {
    /// What a gateway answers a device that violates the protocol: a stable code, and the connection ends.
    struct BadFrameTests {
        @Test(arguments: [
            "", "hello", "{", "[]", "{}", #"{"type":7}"#, #"{"type":"nonsense"}"#, #"{"type":"hello"}"#,
            #"{"type":"hello","protocol":"partita.sync.v1","device":1,"token":"x"}"#,
            String(repeating: "[", count: 60_000),
        ])
        func `a malformed frame is a badFrame`(_ text: String) async throws {
            let device = try await RawDevice.connect(.shared())
            device.send(text: text)
            #expect(try await device.errorCode() == "badFrame")
            #expect(try await device.closure().code == .policyViolation)
        }

        @Test func `a frame beyond the limit is a frameTooLarge, and ends the connection with 1009`() async throws {
            let system = try await RunningSystem.shared()
            let ada = try await TestDevice.register("ada", on: system)
            let device = try await RawDevice.connect(system)
            try await device.greet(try await ada.accessToken(on: system))
            device.send(text: String(repeating: " ", count: FrameLimits.defaultBytes + 1))
            #expect(try await device.errorCode() == "frameTooLarge")
            #expect(try await device.closure().code == .messageTooBig)
            try await ada.close()
        }

        /// On a slow link the device's ping waits behind the frame.
        @Test func `a device hears that its large frame arrives`() async throws {
            let system = try await RunningSystem.shared()
            let ada = try await TestDevice.register("ada", on: system)
            let device = try await RawDevice.connect(system)
            try await device.greet(try await ada.accessToken(on: system))
            device.send(text: String(repeating: " ", count: FrameLimits.defaultBytes / 2))
            try await device.wait("a sign of life") { if case .pong = $0 { true } else { false } }
            // It is no frame of the protocol.
            _ = try await device.errorCode()
            try await ada.close()
        }

        @Test func `something else before hello is a helloExpected`() async throws {
            let device = try await RawDevice.connect(.shared())
            device.send(.ping)
            #expect(try await device.errorCode() == "helloExpected")
        }

        @Test func `an app that isn't deployed is an unknownApp`() async throws {
            let device = try await RawDevice.connect(.shared(), app: "nobody")
            device.send(.hello(.init(device: "d", token: "x")))
            #expect(try await device.errorCode() == "unknownApp")
        }

        @Test func `an internal partition is an unknownPartition`() async throws {
            let system = try await RunningSystem.shared()
            let ada = try await TestDevice.register("ada", on: system)
            let device = try await RawDevice.connect(system)
            try await device.greet(try await ada.accessToken(on: system))
            device.send(text: #"{"type":"subscribe","partition":"i:RChat.User:1","checkpoint":"1.0"}"#)
            #expect(try await device.errorCode() == "unknownPartition")
            device.close()
            try await ada.close()
        }

        @Test func `a partition that no user may read is refused`() async throws {
            let system = try await RunningSystem.shared()
            let ada = try await TestDevice.register("ada", on: system)
            let device = try await RawDevice.connect(system)
            try await device.greet(try await ada.accessToken(on: system))
            let partition = try #require(Partition(value: .string("nonsense=1")))
            device.send(.subscribe(partition: partition, checkpoint: Revision(epoch: 1, number: 0)))
            try await device.wait("a refusal") { if case .revoked = $0 { true } else { false } }
            device.close()
            try await ada.close()
        }

        // MARK: Tokens

        @Test func `a token signed with another key is a badToken`() async throws {
            let system = try await RunningSystem.shared()
            let forger = try TokenSigningKey(generatingWithId: try await systemKey(system).id)
            #expect(try await refusal(of: forger.sign(claims(lifetime: 600)), system) == "badToken")
            #expect(try await refusal(of: "x.y.z", system) == "badToken")
        }

        @Test func `a token whose claims were changed is a badToken`() async throws {
            let system = try await RunningSystem.shared()
            var parts = try await systemKey(system).sign(claims(lifetime: 600)).split(separator: ".").map(String.init)
            let other = try await systemKey(system).sign(claims(lifetime: 900)).split(separator: ".").map(String.init)
            parts[1] = other[1]
            #expect(try await refusal(of: parts.joined(separator: "."), system) == "badToken")
        }

        @Test func `a token of another app is a badToken`() async throws {
            let system = try await RunningSystem.shared()
            #expect(
                try await refusal(of: systemKey(system).sign(claims(app: "other", lifetime: 600)), system) == "badToken"
            )
        }

        @Test func `an expired token is a tokenExpired`() async throws {
            let system = try await RunningSystem.shared()
            #expect(try await refusal(of: systemKey(system).sign(claims(lifetime: -60)), system) == "tokenExpired")
        }

        private func refusal(of token: String, _ system: RunningSystem) async throws -> String {
            let device = try await RawDevice.connect(system)
            device.send(.hello(.init(device: "d", token: token)))
            return try await device.errorCode()
        }

        /// The key that the system itself signs with. Only an administrator can read Postgres and the system's configuration.
        private func systemKey(_ system: RunningSystem) async throws -> TokenSigningKey {
            let rows = try await system.query(
                "select private_key from partita.auth_signing_keys order by signs_from, id limit 1")
            guard let text = try rows.first?.decode(0, as: String.self) else {
                throw SystemFailure(description: "the system has no key")
            }
            return try TokenSigningKey(privateJWK: KeyRing([try system.setting("encryption.keys")]).open(text))
        }

        private func claims(app: String = "rchat", lifetime: Int64) -> TokenClaims {
            let now = Int64(Date().timeIntervalSince1970)
            return TokenClaims(
                session: "s", user: "u", device: "d", app: app, type: .access, issuedAt: now - 120,
                expiresAt: now + lifetime)
        }
    }
}
