import ChildProcesses
import DocumentModel
import EventTopics
import Foundation
import PartitaClient
import TestSupport
import Testing

extension EndToEnd {
    /// What the contracts say about who writes and who reads a topic, against what the services do.
    struct TopicUseTests {
        private static let app: [String: String] = [
            "realm_config.json": #"{"config_version": 20210101, "app_id": "topicuse", "name": "Topic use"}"#,
            "auth/providers.json": """
            {"local-userpass": {"name": "local-userpass", "type": "local-userpass", "config": {"autoConfirm": true,
                                "resetPasswordUrl": "https://app.example/reset"}}}
            """,
            "functions/config.json": #"[{"name": "fails", "private": true}]"#,
            "functions/fails.js": "exports = () => { throw new Error('as it is meant'); };",
            "data_sources/mongodb-atlas/config.json":
                #"{"name": "mongodb-atlas", "type": "mongodb-atlas", "config": {"clusterName": "Cluster0"}}"#,
            "triggers/noted.json": """
            {"name": "noted", "type": "DATABASE", "disabled": false,
             "config": {"service_name": "mongodb-atlas", "database": "Use", "collection": "Note",
                        "operation_types": ["INSERT"], "full_document": true},
             "event_processors": {"FUNCTION": {"config": {"function_name": "fails"}}}}
            """,
            "triggers/registered.json": """
            {"name": "registered", "type": "AUTHENTICATION", "disabled": false,
             "config": {"operation_type": "CREATE", "providers": ["local-userpass"]},
             "event_processors": {"FUNCTION": {"config": {"function_name": "fails"}}}}
            """,
        ]

        /// Topics by service.
        private struct Use: Equatable {
            var written: [TopicContract.Service: Set<String>] = [:]
            var read: [TopicContract.Service: Set<String>] = [:]

            /// As the contracts have it. The tool has no metrics.
            static var agreed: Use {
                var use = Use()
                for contract in Topics.all {
                    for service in contract.writers where service != .tool {
                        use.written[service, default: []].insert(contract.name)
                    }
                    for service in contract.readers where service != .tool {
                        use.read[service, default: []].insert(contract.name)
                    }
                }
                return use
            }
        }

        @Test func `services write and read the topics of their contracts, and no others`() async throws {
            let system = try await RunningSystem.shared()
            var use = Use()
            try await play(system)
            try await note(&use, system)
            // Workers write presence only for a gateway that couldn't shut down gracefully.
            let cleo = try await TestDevice.register("cleo", on: system)
            try await note(&use, system)
            let old = try system.pid(of: "sync-gateway")
            try system.kill("sync-gateway")
            await cleo.session.goOffline()
            try await system.waitUntilReplaced("sync-gateway", old)
            let agreed = Use.agreed
            do {
                try await eventually("each has written what it may", within: .seconds(60)) {
                    try await note(&use, system)
                    return use.written == agreed.written
                }
            } catch {
                for service in agreed.written.keys {
                    #expect(use.written[service] == agreed.written[service], "\(service)")
                }
            }
            for service in Set(agreed.read.keys).union(use.read.keys) {
                #expect(use.read[service] == agreed.read[service], "\(service)")
            }
            try await cleo.close()
        }

        /// A conversation with all that happens in one, and a trigger that fails.
        private func play(_ system: RunningSystem) async throws {
            _ = try await TestApp.deploy("topicuse", Self.app, on: system)
            let ada = try await TestDevice.register("ada", on: system)
            let ben = try await TestDevice.register("ben", on: system)
            let conversation = try await ada.beginConversation(with: [ben])
            let talk = try await ada.open(conversation)
            let bens = try await ben.open(conversation)
            let picture = try await ada.send([UInt8](repeating: 7, count: 300_000), to: talk)
            let link = try await eventually("the photo is a link", within: patience) {
                try await ada.link(ofPicture: picture, in: talk)
            }
            // Permissions decide nothing about a user who never had the conversation on a device.
            let stranger = try await TestDevice.register("eve", on: system)
            let opened = try await HTTPCaller(root: "", system: system).get(
                link, token: try await stranger.accessToken(on: system))
            #expect(opened.status == 404)
            try await stranger.close()
            try await ada.remove(ben, from: conversation)
            for await state in try await bens.states() where state.revoked != nil { break }
            let client = HTTPCaller(
                root: system.publicURL + "/api/client/v2.0/app/topicuse/auth/providers/local-userpass", system: system)
            let account = #"{"email": "dora@example.com", "password": "correct horse"}"#
            let registered = try await eventually("the app is known", within: patience) {
                let answer = try await client.post("/register", account)
                return answer.status == 404 ? nil : answer
            }
            #expect(registered.status == 201, "\(registered.text)")
            let push = HTTPCaller(root: system.publicURL + "/api/client/v2.0/app/rchat/push/providers", system: system)
            let noted = try await push.send(
                "PUT", "/gcm/registration", Array(#"{"registrationToken": "a-token"}"#.utf8),
                try await ada.accessToken(on: system))
            #expect(noted.status == 204, "\(noted.text)")
            try await administer(system)
            try await DevelopmentModeTests.develop("topicuse-developing", on: system)
            for device in [ada, ben] { try await device.close() }
        }

        /// Pauses and resumes a trigger and replays a dead letter by the administration API, which records the calls, announces the app's
        /// new state, and publishes the event again.
        private func administer(_ system: RunningSystem) async throws {
            func run(_ words: [String]) async throws -> String {
                let run = try await CapturedRun.run(
                    CurrentEnvironment.sibling("partita"), words + ["--data", system.directory])
                guard run.status.isSuccess else { throw SystemFailure(description: run.output) }
                return run.output.trimmingCharacters(in: .whitespacesAndNewlines)
            }
            let token = try await run(["admin-tokens", "create", "--role", "triggers"])
            let api = HTTPCaller(root: system.publicURL + "/api/admin/v1/apps/topicuse", system: system)
            for act in ["pause", "resume"] {
                let answer = try await api.send("PUT", "/triggers/registered/\(act)", [], token)
                #expect(answer.status == 204, "\(answer.text)")
            }
            _ = try await run(["documents", "insert", "Use.Note", "{}", "--app", "topicuse"])
            let number = try await eventually("the dead letter", within: patience) {
                let list = try await api.get("/dead-letters?trigger=noted", token: token)
                return try ExtendedJSON.parse(list.text)["deadLetters"]?[0]?["number"]?.int64Value
            }
            let replayed = try await api.send("POST", "/dead-letters/\(number)/replay", [], token)
            #expect(replayed.status == 204, "\(replayed.text)")
        }

        /// Adds the topics in the services' metrics. A reader appears as soon as it runs, a writer when it has written.
        private func note(_ use: inout Use, _ system: RunningSystem) async throws {
            let line = #/event_stream_(read|produced)_total\{topic="([a-z-]+)"\} ([0-9]+)/#
            for name in RunningSystem.services {
                let service = try #require(TopicContract.Service(rawValue: name))
                let metrics = try await HTTPCaller(root: system.url(of: name), system: system).get("/metrics")
                for match in metrics.text.matches(of: line) {
                    if match.1 == "read" {
                        use.read[service, default: []].insert(String(match.2))
                    } else if match.3 != "0" {
                        use.written[service, default: []].insert(String(match.2))
                    }
                }
            }
        }
    }
}
