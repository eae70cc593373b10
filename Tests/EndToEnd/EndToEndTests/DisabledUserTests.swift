import DocumentModel
import HTTPClient
import SyncProtocol
import TestSupport
import Testing

extension EndToEnd {
    /// An access token outlives the disabling of its account, but is refused.
    struct DisabledUserTests {
        @Test func `a disabled user is out within a second and after restarts, until enabled again`()
            async throws
        {
            let system = try await RunningSystem.shared()
            let ada = try await TestDevice.register("ada", on: system)
            var token = try await ada.accessToken(on: system)
            try await waitForAnswer("FunctionNotFound", "NoMatchingRuleFound", token, system)
            var times: [Duration] = []
            var calls: [Duration] = []
            for _ in 0..<5 {
                let asked = ContinuousClock.now
                _ = try await answers(to: token, system)
                calls.append(ContinuousClock.now - asked)
                let socket = try await RawDevice.connect(system)
                try await socket.greet(token)
                try await set("disable", ada, system)
                let start = ContinuousClock.now
                try await waitForAnswer("UserDisabled", "UserDisabled", token, system)
                // Disabling also ends the user's sessions; either event may arrive first.
                let codes: [SyncErrorCode] = [.userDisabled, .sessionEnded]
                #expect(codes.map(\.rawValue).contains(try await socket.errorCode()))
                _ = try await socket.closure()
                times.append(ContinuousClock.now - start)
                try await set("enable", ada, system)
                token = try await ada.accessToken(on: system)
                try await waitForAnswer("FunctionNotFound", "NoMatchingRuleFound", token, system)
            }
            // If the two calls alone take longer than 50 ms, the machine is busy, and the limit of a second grows by that factor.
            let limit = max(.seconds(1), calls.sorted()[2] * 20)
            #expect(times.sorted()[2] < limit, "out after \(times), of \(limit)")

            try await set("disable", ada, system)
            for service in ["trigger-workers", "sync-gateway"] { try await system.replace(service) }
            #expect(try await answers(to: token, system) == ["UserDisabled", "UserDisabled"])
            let socket = try await RawDevice.connect(system)
            socket.send(.hello(.init(device: "phone", token: token)))
            #expect(try await socket.errorCode() == SyncErrorCode.userDisabled.rawValue)
            try await set("enable", ada, system)
            token = try await ada.accessToken(on: system)
            try await waitForAnswer("FunctionNotFound", "NoMatchingRuleFound", token, system)
            try await ada.close()
        }

        private func waitForAnswer(
            _ call: String, _ data: String, _ token: String, _ system: RunningSystem
        ) async throws {
            try await eventually("\(call) and \(data)", within: .seconds(20)) {
                try await answers(to: token, system) == [call, data]
            }
        }

        /// The codes of a function call and of the data API. Neither call could succeed, but the user is checked first.
        private func answers(to token: String, _ system: RunningSystem) async throws -> [String?] {
            let call = try await send(
                "POST", system.url(of: "trigger-workers") + "/api/client/v2.0/app/rchat/functions/call", token,
                #"{"name": "no-such-function", "arguments": []}"#, system)
            let data = try await send(
                "POST", system.url(of: "sync-gateway") + "/app/rchat/endpoint/data/v1/action/findOne", token,
                #"{"dataSource": "mongodb-atlas", "database": "RChat", "collection": "Nothing"}"#, system)
            return try [call, data].map { try ExtendedJSON.parse($0.body)["error_code"]?.stringValue }
        }

        private func set(_ action: String, _ device: TestDevice, _ system: RunningSystem) async throws {
            let path = "/api/admin/v1/apps/rchat/users/\(device.session.userId)/\(action)"
            let answer = try await send("PUT", system.url(of: "auth") + path, RunningSystem.adminToken, "", system)
            guard answer.status == 204 else { throw SystemFailure(description: "\(action): \(answer.text)") }
        }

        private func send(
            _ method: String, _ url: String, _ token: String, _ body: String, _ system: RunningSystem
        ) async throws -> HTTPClient.Response {
            let http = HTTPClient(loop: system.loop)
            let headers = [
                HTTPClient.Header("Content-Type", "application/json"),
                HTTPClient.Header("Authorization", "Bearer \(token)"),
            ]
            let answer = try await http.send(
                .init(method: method, url: url, headers: headers, body: Array(body.utf8)))
            await http.shutDown()
            return answer
        }
    }
}
