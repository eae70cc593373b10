import DocumentModel
import Foundation
import HTTPClient
import TestSupport
import Testing
import Vectors

extension EndToEnd {
    /// The HTTP calls of a real Realm client, made again at the one address of all services.
    struct RealmLoginTests {
        private static let files: [String: String] = [
            "realm_config.json": #"{"config_version": 20210101, "app_id": "chatapp-abcde", "name": "chatapp"}"#,
            "auth/providers.json": """
            {"anon-user": {"name": "anon-user", "type": "anon-user", "disabled": false},
             "api-key": {"name": "api-key", "type": "api-key", "disabled": false},
             "local-userpass": {"name": "local-userpass", "type": "local-userpass", "disabled": false,
               "config": {"autoConfirm": true, "resetPasswordUrl": "http://localhost/reset"}}}
            """,
            "functions/config.json": #"[{"name": "sum", "private": false}]"#,
            "functions/sum.js": "exports = (a, b) => a + b;",
        ]

        @Test func `a real client's calls get the answers on which it went on`() async throws {
            let system = try await RunningSystem.shared()
            _ = try await TestApp.deploy("chatapp", Self.files, on: system)
            // Functions are called at another service, which hears of the app by itself.
            var tokens: [String: String] = [:]
            let calls = try RealmVectors.objects("login.jsonl.gz")
            #expect(calls.count > 10)
            for call in calls {
                let path = call["path"]?.stringValue ?? "", status = call["status"]?.intValue ?? 0
                var answer = try await send(call, tokens, system)
                if path.hasSuffix("/functions/call"), answer.status == 404 {
                    try await eventually("the functions' service has the app", within: patience) {
                        answer = try await send(call, tokens, system)
                        return answer.status != 404
                    }
                }
                let recorded = call["answer"]?.stringValue ?? ""
                #expect(answer.status == status, "\(path): \(answer.text)")
                if !recorded.isEmpty || status != 204 {
                    // The SDKs compare the whole value for errors.
                    #expect(answer[header: "content-type"] == "application/json", "\(path)")
                }
                guard !recorded.isEmpty else { continue }
                let value = try ExtendedJSON.parse(answer.text)
                for difference in Self.differences(value, try ExtendedJSON.parse(recorded), "") {
                    Issue.record("\(path)\(difference): \(answer.text)")
                }
                for kind in ["access", "refresh"] {
                    if let token = value["\(kind)_token"]?.stringValue { tokens[kind] = token }
                }
            }
        }

        private func send(
            _ call: Document, _ tokens: [String: String], _ system: RunningSystem
        ) async throws -> HTTPClient.Response {
            let http = HTTPClient(loop: system.loop)
            var headers = (call["headers"]?.arrayValue ?? []).compactMap(\.arrayValue).map {
                HTTPClient.Header($0[0].stringValue ?? "", $0[1].stringValue ?? "")
            }
            if let kind = call["token"]?.stringValue {
                headers.append(.init("Authorization", "Bearer \(tokens[kind, default: ""])"))
            }
            let body = call["body"]?.stringValue ?? ""
            let answer = try await http.send(
                .init(
                    method: call["method"]?.stringValue ?? "",
                    url: system.publicURL + (call["path"]?.stringValue ?? ""), headers: headers,
                    body: body.isEmpty ? nil : Array(body.utf8)))
            await http.shutDown()
            return answer
        }

        /// What the recorded answer has and this one doesn't, or has as another type. Two fields aren't here, and no SDK needs them: `link`, a
        /// page of the vendor's logs, and `provider_id`.
        private static func differences(_ value: Value, _ recorded: Value, _ place: String) -> [String] {
            switch (value, recorded) {
            // That server gave the same profile to its anonymous user.
            case (.document, .document) where place == ".data": return []
            case (.document(let document), .document(let expected)):
                return expected.fields.filter { !["link", "provider_id"].contains($0.key) }.flatMap { field in
                    document[field.key].map { differences($0, field.value, "\(place).\(field.key)") }
                        ?? ["\(place) has no \(field.key)"]
                }
            case (.array(let elements), .array(let expected)):
                guard elements.count == expected.count else { return ["\(place) has another length"] }
                return zip(elements, expected).enumerated().flatMap {
                    differences($0.element.0, $0.element.1, "\(place)[\($0.offset)]")
                }
            // The width of a number is JavaScript's to choose.
            case _ where value.doubleValue != nil && recorded.doubleValue != nil: return []
            default:
                return value.typeName == recorded.typeName
                    ? [] : ["\(place) is a \(value.typeName), not a \(recorded.typeName)"]
            }
        }
    }
}
