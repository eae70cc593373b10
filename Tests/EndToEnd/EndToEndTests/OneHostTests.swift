import ChildProcesses
import DocumentModel
import Foundation
import Glibc
import HTTPClient
import PartitaClient
import TestSupport
import Testing

extension EndToEnd {
    /// Everything that clients call is behind one host: the proxy, with the configuration of `Deploy`.
    struct OneHostTests {
        private static let app: [String: String] = [
            "realm_config.json": """
            {"config_version": 20210101, "app_id": "onehost", "name": "One host", "location": "DE-FF", "deployment_model": "LOCAL"}
            """,
            "auth/providers.json": """
            {"local-userpass": {"name": "local-userpass", "type": "local-userpass", "config": {"autoConfirm": true,
                                "resetPasswordUrl": "https://app.example/reset"}}}
            """,
            "auth/custom_user_data.json": """
            {"enabled": true, "mongo_service_name": "mongodb-atlas", "database_name": "d", "collection_name": "about",
             "user_id_field": "user"}
            """,
            "data_sources/mongodb-atlas/config.json": #"{"name": "mongodb-atlas", "type": "mongodb-atlas"}"#,
            "sync/config.json": """
            {"state": "enabled", "service_name": "mongodb-atlas", "database_name": "d",
             "partition": {"key": "team", "type": "string", "permissions": {"read": false, "write": false}}}
            """,
            "data_sources/mongodb-atlas/d/c/schema.json":
                #"{"title": "c", "bsonType": "object", "properties": {"n": {"bsonType": "int"}}}"#,
            "data_sources/mongodb-atlas/d/shared/schema.json":
                #"{"title": "shared", "bsonType": "object", "properties": {"team": {"bsonType": "string"}}}"#,
            "http_endpoints/data_api_config.json": #"{"disabled": false}"#,
            "functions/config.json":
                #"[{"name": "add", "private": false}, {"name": "hook", "private": true, "run_as_system": true}]"#,
            "functions/hook.js": "exports = ({query}) => ({hello: query.name, url: context.request.webhookUrl});",
            "http_endpoints/config.json": """
            [{"route": "/hooks/hello", "http_method": "GET", "function_name": "hook", "validation_method": "NO_VALIDATION",
              "respond_result": true, "return_type": "JSON", "disabled": false}]
            """,
            "functions/add.js": "exports = (a, b) => ({sum: a + b, user: context.user.id});",
        ]

        @Test func `a user signs up, calls a function and signs in again at one address`() async throws {
            let system = try await RunningSystem.shared()
            try await deploy(system)
            let client = HTTPCaller(root: system.publicURL + "/api/client/v2.0/app/onehost", system: system)
            let location = try await eventually("the app is known", within: patience) {
                let answer = try await client.get("/location")
                return answer.status == 200 ? try ExtendedJSON.parse(answer.body) : nil
            }
            #expect(location["hostname"]?.stringValue == system.publicURL)
            #expect(location["ws_hostname"]?.stringValue == system.publicURL.replacing("http://", with: "ws://"))

            let provider = "/auth/providers/local-userpass"
            let credentials = #""password": "correct horse"}"#
            let signUp = try await client.post(provider + "/register", #"{"email": "ada@example.com", "# + credentials)
            #expect([201, 409].contains(signUp.status))
            let signIn = try await client.post(provider + "/login", #"{"username": "ada@example.com", "# + credentials)
            let session = try ExtendedJSON.parse(signIn.body)
            let token = try #require(session["access_token"]?.stringValue)
            let sum = try await eventually("the workers know app and key", within: patience) {
                let answer = try await client.post(
                    "/functions/call", #"{"name": "add", "arguments": [1, 2]}"#, token: token)
                return answer.status == 200 ? try ExtendedJSON.parse(answer.body) : nil
            }
            #expect(sum["sum"]?.intValue == 3)
            #expect(sum["user"] == session["user_id"])

            let data = HTTPCaller(root: system.publicURL + "/app/onehost/endpoint/data/v1/action", system: system)
            let find = #"{"dataSource": "mongodb-atlas", "database": "d", "collection": "c"}"#
            let found = try await data.post("/findOne", find, token: token)
            #expect(try ExtendedJSON.parse(found.body)["error_code"] == "NoMatchingRuleFound", "\(found.text)")

            let path = "/app/onehost/endpoint/hooks/hello"
            // Under another name than the configured one, as a client may write anything in its `Host`.
            let other = system.publicURL.replacing("127.0.0.1", with: "localhost")
            let hook = try await HTTPCaller(root: other, system: system).get(path + "?name=Ada")
            let answer = try ExtendedJSON.parse(hook.body)
            #expect(hook.status == 200 && answer["hello"] == "Ada", "\(hook.text)")
            #expect(answer["url"]?.stringValue == system.publicURL + path)
        }

        @Test func `a user of whom an access token says as much as it may calls functions and streams`() async throws {
            let system = try await RunningSystem.shared()
            try await deploy(system)
            let id = ObjectId().hexString, data = String(repeating: "p", count: 4000)
            let list = system.directory + "/about.json"
            let identities =
                (0..<20).map {
                    #"{"id": "\#(String(repeating: "i", count: 80))\#($0)", "provider_type": "custom-token"}"#
                }
                + [
                    #"{"id": "e", "provider_type": "local-userpass", "provider_data": {"email": "long@example.com"}, "password_hash": "\#(Self.hash)"}"#
                ]
            try
                #"{"_id": "\#(id)", "data": {"p": "\#(data)"}, "identities": [\#(identities.dropFirst(2).joined(separator: ","))]}"#
                .write(toFile: list, atomically: true, encoding: .utf8)
            func tool(_ words: String...) async throws {
                let run = try await CapturedRun.run(
                    CurrentEnvironment.sibling("partita"), words + ["--app", "onehost", "--data", system.directory])
                #expect(run.status.isSuccess, "\(run.output)")
            }
            try await tool("users", "import", list)
            try await tool(
                "documents", "insert", "d.about",
                #"{"user": "\#(id)", "more": "\#(String(repeating: "c", count: 3900))"}"#)
            let client = HTTPCaller(root: system.publicURL + "/api/client/v2.0", system: system)
            let signIn = try await client.post(
                "/app/onehost/auth/providers/local-userpass/login",
                #"{"username": "long@example.com", "password": "correct horse"}"#)
            let token = try #require(try ExtendedJSON.parse(signIn.body)["access_token"]?.stringValue, "\(signIn.text)")
            #expect(token.utf8.count > 12_000)
            #expect(try await client.get("/auth/profile", token: token).status == 200)
            let sum = try await client.post(
                "/app/onehost/functions/call", #"{"name": "add", "arguments": [1, 2]}"#, token: token)
            #expect(sum.status == 200, "\(sum.text)")
            let arguments = Data(#"[{"database": "d", "collection": "c", "ids": []}]"#.utf8).base64EncodedString()
            let refused = try await client.get(
                "/app/onehost/functions/call?baas_request=\(arguments)&baas_at=\(token)")
            #expect(refused.status == 400 && refused.text.contains("error_code"), "\(refused.status) \(refused.text)")
        }

        /// Of "correct horse".
        private static let hash = "$2b$04$abcdefghijklmnopqrstuujydOTSfIH/d5oUHpsygqV5X9xJLQc6e"

        @Test func `devices sync and links to media open at one address`() async throws {
            let system = try await RunningSystem.shared()
            let ada = try await TestDevice.register("ada", on: system)
            let conversation = try await ada.beginConversation()
            let talk = try await ada.open(conversation)
            let picture = [UInt8](repeating: 7, count: 300_000)
            // Escapes in the URL must reach the service unchanged.
            let id = "a photo/ö \(UUID().uuidString)"
            _ = try await ada.send(picture, id: id, to: talk)
            let link = try await eventually("the photo is a link", within: patience) {
                try await ada.link(ofPicture: id, in: talk)
            }
            #expect(link.hasPrefix(system.publicURL + "/v1/apps/rchat/media/"))
            let client = HTTPCaller(root: "", system: system)
            let opened = try await client.get(link, token: try await ada.accessToken(on: system))
            #expect(opened.status == 200 && opened.body == picture)
            #expect(try await client.get(link).status == 401)
            let token = try await ada.accessToken(on: system)
            #expect(try await client.get(link + "?baas_at=" + token).status == 200)
            let log = try String(contentsOfFile: system.directory + "/logs/proxy.log", encoding: .utf8)
            #expect(log.contains("/v1/apps/rchat/media/") && !log.contains("baas_at") && !log.contains(token))
            try await ada.close()
        }

        @Test func `the operator's paths are hidden, and an unavailable service is a 503 for clients`()
            async throws
        {
            let system = try await RunningSystem.shared()
            let client = HTTPCaller(root: system.publicURL, system: system)
            for path in ["/metrics", "/health/live"] { #expect(try await client.get(path).status == 404) }

            // During the 200 ms until it is started again, nothing listens.
            let old = try system.pid(of: "media-offload")
            try system.kill("media-offload")
            let answer = try await eventually("the proxy finds nobody") {
                let answer = try await client.get("/v1/apps/rchat/media/RChat/ChatMessage/s%3A1/0")
                return answer.status == 503 ? answer : nil
            }
            #expect(try ExtendedJSON.parse(answer.body)["error_code"] == "ServiceUnavailable")
            try await system.waitUntilReplaced("media-offload", old)
            // The proxy wasn't restarted, and becomes ready when all services are.
            try await system.waitUntilReady(system.publicURL)
        }

        @Test(arguments: [
            "GET /% HTTP/1.1\r\nHost: a", "GET /%zz HTTP/1.1\r\nHost: a", "GET /%2e%2e/metrics HTTP/1.1\r\nHost: a",
            "GET /x/..%2f..%2f.. HTTP/1.1\r\nHost: a", "GET /a\0b HTTP/1.1\r\nHost: a", "GET /a b HTTP/1.1\r\nHost: a",
            "GET /api/client/v2.0/app/rchat%00/location HTTP/1.1\r\nHost: a", "OPTIONS * HTTP/1.1\r\nHost: a",
            "CONNECT a:80 HTTP/1.1\r\nHost: a", "GET / HTTP/2.0\r\nHost: a", "GET / HTTP/1.1",
            "GET /\(String(repeating: "a", count: 40_000)) HTTP/1.1\r\nHost: a", "nonsense",
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked",
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1",
        ])
        func `what the proxy can't parse is a bad request in the services' form`(_ head: String) async throws {
            let answer = try await raw(head)
            #expect(["400", "405", "414"].contains(answer.dropFirst(9).prefix(3)), "\(head): \(answer)")
            #expect(answer.contains("Content-Type: application/json"), "\(answer)")
            #expect(answer.contains(#""error_code":"BadRequest""#), "\(answer)")
        }

        @Test func `a client of HTTP/1.0 that names no host is served`() async throws {
            let answer = try await raw("GET /api/client/v2.0/app/rchat/location HTTP/1.0")
            #expect(answer.hasPrefix("HTTP/1.1 200 "), "\(answer)")
        }

        /// What the proxy answers to a head that no client library would send.
        private func raw(_ head: String) async throws -> String {
            let port = try await RunningSystem.shared().basePort + 5
            let script = """
                import socket, sys
                connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 10)
                connection.sendall(sys.argv[2].encode().decode("unicode_escape").encode("latin1") + b"\\r\\n\\r\\n")
                while part := connection.recv(65536): sys.stdout.buffer.write(part)
                """
            // As text, since an argument has no U+0000.
            let escaped = head.replacing("\0", with: "\\0").replacing("\r", with: "\\r").replacing("\n", with: "\\n")
            return try await CapturedRun.run("python3", ["-c", script, "\(port)", escaped]).output
        }

        @Test(arguments: [
            ("auth", "/api/client/v2.0/app/rchat/auth/providers/local-userpass/register", 64 << 10),
            ("auth", "/api/client/v2.0/app/rchat/auth/providers/local-userpass/login", 256 << 10),
            ("trigger-workers", "/api/client/v2.0/app/rchat/functions/call", 18 << 20),
            ("sync-gateway", "/app/rchat/endpoint/data/v1/action/find", 18 << 20),
            ("trigger-workers", "/app/rchat/endpoint/hook", 18 << 20),
        ])
        func `a body that is too large for its service is refused by the proxy with the same code`(
            _ service: String, _ path: String, _ limit: Int
        ) async throws {
            let system = try await RunningSystem.shared()
            for root in [system.publicURL, system.url(of: service)] {
                let client = HTTPCaller(root: root, system: system)
                let most = try await client.send("POST", path, [UInt8](repeating: 0x20, count: limit))
                #expect(most.status != 413, "\(root): \(most.text)")
                // The proxy reads what arrives before it closes the connection; a service may not.
                let more = try await client.send(
                    "POST", path, [UInt8](repeating: 0x20, count: limit + 1), waits: root != system.publicURL)
                #expect(more.status == 413, "\(root): \(more.text)")
                #expect(more[header: "content-type"] == "application/json")
                #expect(try ExtendedJSON.parse(more.body)["error_code"] == "RequestEntityTooLarge")
            }
        }

        @Test(arguments: ["auth", "sync-gateway", "trigger-workers", "media-offload"])
        func `each documented operation is answered by its own service`(_ service: String) async throws {
            let system = try await RunningSystem.shared()
            let here = HTTPCaller(root: system.publicURL, system: system)
            let direct = HTTPCaller(root: system.url(of: service), system: system)
            let operations = try OpenAPIPaths.read(tag: service)
            #expect(!operations.isEmpty)
            for operation in operations {
                let parts = operation.split(separator: " ").map(String.init)
                let path = parts[1].replacing(":app", with: "rchat").replacing(/:[a-z]+/, with: "x")
                let answer = try await here.send(parts[0], path, parts[0] == "GET" ? nil : [])
                let own = try await direct.send(parts[0], path, parts[0] == "GET" ? nil : [])
                #expect(answer.status == own.status && answer.text == own.text, "\(operation): \(answer.text)")
                // The administrator's operations are off without a token.
                #expect(!answer.text.contains("no such resource") || path.hasPrefix("/api/admin/"), "\(operation)")
            }
        }

        @Test func `clients on other machines get the host name that up was given`() async throws {
            let system = try await RunningSystem.start("partita-e2e-host-\(getpid())", ["--host", "localhost"])
            let client = HTTPCaller(root: system.publicURL + "/api/client/v2.0/app/rchat", system: system)
            let location = try ExtendedJSON.parse(try await client.get("/location").body)
            let port = system.publicURL.split(separator: ":").last ?? ""
            #expect(location["hostname"]?.stringValue == "http://localhost:\(port)")
            #expect(location["ws_hostname"]?.stringValue == "ws://localhost:\(port)")
            let listening = try await CapturedRun.run("ss", ["-Hltn", "sport = :\(port)"])
            #expect(listening.output.contains("0.0.0.0:\(port)"), "\(listening.output)")
            #expect(await system.up.terminate(grace: .seconds(40)) == .exited(0))
        }

        private func deploy(_ system: RunningSystem) async throws {
            let output = try await TestApp.deploy("onehost", Self.app, on: system)
            #expect(output.contains("d.shared is synced"), "\(output)")
            let reason = "its schema has no property 'team', the partition key"
            #expect(output.contains("d.c is not synced: \(reason)"), "\(output)")
        }
    }
}
