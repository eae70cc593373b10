import DocumentModel
import HTTPClient
import TestSupport
import Testing

extension EndToEnd {
    /// An app with several data sources: a call names its service, whose rules apply.
    struct ServiceRulesTests {
        private static let files: [String: String] = [
            "realm_config.json": #"{"config_version": 20210101, "app_id": "desks", "name": "Desks"}"#,
            "auth/providers.json": #"{"anon-user": {"name": "anon-user", "type": "anon-user", "disabled": false}}"#,
            "data_sources/main/config.json":
                #"{"name": "main", "type": "mongodb-atlas", "config": {"clusterName": "A"}}"#,
            "data_sources/main/d/Note/rules.json":
                #"{"roles": [{"name": "all", "apply_when": {}, "read": true, "write": true}]}"#,
            "data_sources/desk/config.json":
                #"{"name": "desk", "type": "mongodb-atlas", "config": {"clusterName": "A"}}"#,
            "data_sources/desk/d/Note/rules.json":
                #"{"roles": [{"name": "open", "apply_when": {"open": true}, "read": true}]}"#,
            "data_sources/archive/config.json":
                #"{"name": "archive", "type": "mongodb-atlas", "config": {"clusterName": "B"}}"#,
            "data_sources/archive/default_rule.json":
                #"{"roles": [{"name": "all", "apply_when": {}, "read": true, "write": true}]}"#,
            "http_endpoints/data_api_config.json":
                #"{"disabled": false, "versions": ["v1"], "return_type": "JSON", "create_user_on_auth": false}"#,
            "functions/config.json": #"[{"name": "count"}, {"name": "countAll", "run_as_system": true}]"#,
            "functions/count.js":
                "exports = service => context.services.get(service).db('d').collection('Note').count({});",
            "functions/countAll.js":
                "exports = service => context.services.get(service).db('d').collection('Note').count({});",
        ]

        @Test func `each service has its own rules for the same collection`() async throws {
            let system = try await RunningSystem.shared()
            _ = try await TestApp.deploy("desks", Self.files, on: system)
            let caller = HTTPCaller(root: system.publicURL, system: system)
            let login = try await caller.post("/api/client/v2.0/app/desks/auth/providers/anon-user/login", "{}")
            let token = try #require(try ExtendedJSON.parseDocument(login.body)["access_token"]?.stringValue)

            func call(_ service: String, _ name: String, _ fields: String = "") async throws -> HTTPClient.Response {
                try await caller.post(
                    "/api/client/v2.0/app/desks/functions/call",
                    #"{"service": "\#(service)", "name": "\#(name)", "arguments": [{"database": "d", "collection": "Note"\#(fields)}]}"#,
                    token: token)
            }
            for open in [true, false, false] {
                let answer = try await call("main", "insertOne", #", "document": {"open": \#(open)}"#)
                #expect(answer.status == 200, "\(answer.text)")
            }
            #expect(try await call("main", "count").text.contains(#""3""#))
            #expect(try await call("desk", "count").text.contains(#""1""#))
            let write = try await call("desk", "insertOne", #", "document": {"open": true}"#)
            #expect(write.status == 403 && write.text.contains("NoMatchingRuleFound"), "\(write.text)")
            // Its default rules allow all, but the collection is of another cluster.
            let foreign = try await call("archive", "count")
            #expect(
                foreign.status == 400 && foreign.text.contains("d.Note belongs to the service 'desk'"),
                "\(foreign.text)")
            let unknown = try await call("mongodb-atlas", "count")
            #expect(
                unknown.status == 404 && unknown.text.contains("service not found: 'mongodb-atlas'"), "\(unknown.text)")

            func find(_ source: String) async throws -> HTTPClient.Response {
                try await caller.post(
                    "/app/desks/endpoint/data/v1/action/find",
                    #"{"dataSource": "\#(source)", "database": "d", "collection": "Note"}"#, token: token)
            }
            func count(_ answer: HTTPClient.Response) throws -> Int? {
                try ExtendedJSON.parseDocument(answer.body)["documents"]?.arrayValue?.count
            }
            #expect(try count(await find("main")) == 3)
            #expect(try count(await find("desk")) == 1)
            #expect(try await find("archive").text.contains("d.Note belongs to the service 'desk'"))
            #expect(try await find("nowhere").text.contains("no data source 'nowhere'"))

            func function(_ name: String, _ service: String) async throws -> String {
                try await caller.post(
                    "/api/client/v2.0/app/desks/functions/call", #"{"name": "\#(name)", "arguments": ["\#(service)"]}"#,
                    token: token
                ).text
            }
            #expect(try await function("count", "main").contains(#""3""#))
            #expect(try await function("count", "desk").contains(#""1""#))
            #expect(try await function("countAll", "desk").contains(#""3""#))
            for name in ["count", "countAll"] {
                let foreign = try await function(name, "archive")
                #expect(foreign.contains("d.Note belongs to the service 'desk'"), "\(foreign)")
                let unknown = try await function(name, "nowhere")
                #expect(unknown.contains("ServiceNotFound: service not found: 'nowhere'"), "\(unknown)")
                let usual = try await function(name, "mongodb-atlas")
                #expect(usual.contains("ServiceNotFound: service not found: 'mongodb-atlas'"), "\(usual)")
            }
        }
    }
}
