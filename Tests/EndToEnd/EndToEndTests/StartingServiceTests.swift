import DocumentModel
import HTTPClient
import TestSupport
import Testing

extension EndToEnd {
    /// A client whose token is called bad signs its user out.
    struct StartingServiceTests {
        private struct Probe {
            let service: String
            let method: String
            let path: String
            let body: String
            /// The code of an answer to a user who is signed in.
            let known: String
        }

        private static let probes = [
            Probe(
                service: "trigger-workers", method: "POST", path: "/api/client/v2.0/app/rchat/functions/call",
                body: #"{"name": "no-such-function", "arguments": []}"#, known: "FunctionNotFound"),
            Probe(
                service: "sync-gateway", method: "POST", path: "/app/rchat/endpoint/data/v1/action/findOne",
                body: #"{"dataSource": "mongodb-atlas", "database": "RChat", "collection": "Nothing"}"#,
                known: "NoMatchingRuleFound"),
            Probe(
                service: "media-offload", method: "GET", path: "/v1/apps/rchat/media/RChat/Nothing/1/2", body: "",
                known: "MediaNotFound"),
        ]

        @Test(arguments: probes.indices)
        func `a starting service doesn't call a valid token bad`(index: Int) async throws {
            let probe = Self.probes[index]
            let system = try await RunningSystem.shared()
            let ada = try await TestDevice.register("ada", on: system)
            let token = try await ada.accessToken(on: system)
            let http = HTTPClient(loop: system.loop)
            let request = HTTPClient.Request(
                method: probe.method, url: system.url(of: probe.service) + probe.path,
                headers: [.init("Content-Type", "application/json"), .init("Authorization", "Bearer \(token)")],
                body: Array(probe.body.utf8))
            func code() async -> String? {
                guard let answer = try? await http.send(request) else { return nil }
                return (try? ExtendedJSON.parse(answer.body))?["error_code"]?.stringValue
            }
            try await eventually("\(probe.service) knows who asks") { await code() == probe.known }

            for _ in 0..<3 {
                let old = try system.pid(of: probe.service)
                try system.kill(probe.service)
                var codes: Set<String> = []
                try await eventually("\(probe.service) is there again", within: .seconds(60), every: .milliseconds(1)) {
                    guard let code = await code() else { return false }
                    codes.insert(code)
                    return code == probe.known
                }
                #expect(codes.isSubset(of: [probe.known, "ServiceUnavailable"]))
                try await system.waitUntilReplaced(probe.service, old)
                // A service that is ready can verify the caller.
                #expect(await code() == probe.known)
            }
            await http.shutDown()
            try await ada.close()
        }
    }
}
