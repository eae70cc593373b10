import DocumentModel
import Foundation
import FoundationNetworking
import TestSupport
import Testing

/// HTTPS endpoints over real HTTP.
@Suite struct EndpointTests {
    private static let functions = [
        "echo": """
        exports = ({query, headers, body}, response) => ({
          query, body: body === undefined ? 'none' : body.text(), header: headers['X-Given'], token: headers.Authorization,
          request: context.request, user: context.user.id, system: context.runningAsSystem() });
        """,
        "hiddenMade": """
        exports = ({body}, response) => {
          response.setStatusCode(201); response.setHeader('Content-Type', 'text/plain');
          response.addHeader('X-Two', 'a'); response.setHeader('X-Accel-Redirect', '/secret');
          response.setHeader('Content-Length', '1'); response.setBody('made ' + body.text()); return 'unused'; };
        """,
        "values": "exports = () => ({id: new BSON.ObjectId('5f1b2c3d4e5f6a7b8c9d0e1f'), n: BSON.Long.fromNumber(5)});",
        "nothing": "exports = () => {};",
        "teapot": "exports = (request, response) => { response.setStatusCode(418); };",
        "broken": "exports = () => { throw new Error('it broke'); };",
        "odd": "exports = (request, response) => { response.setStatusCode(101); };",
        "split": "exports = (request, response) => { response.setHeader('X-Split', 'a\\r\\nX-Other: b'); };",
        "cookie": "exports = ({query}, response) => { response.setHeader('set-cookie', query.cookie); };",
        "host":
            "exports = (request, response) => { response.setHeader('NEL', '{}'); response.setHeader('report-to', '{}'); response.setHeader('X-Own', '1'); };",
        "unnamed": "exports = (request, response) => { response.setHeader('X Split', 'a'); };",
        "userWho": "exports = ({headers}) => ({id: context.user.id, token: headers.Authorization === undefined});",
    ]

    private static let endpoints = """
        [{"route": "/echo", "http_method": "GET", "function_name": "echo", "respond_result": true, "return_type": "JSON"},
         {"route": "/echo", "http_method": "POST", "function_name": "echo", "respond_result": true, "return_type": "JSON"},
         {"route": "/deep/Made/it", "http_method": "PUT", "function_name": "hiddenMade", "respond_result": true},
         {"route": "/json", "http_method": "GET", "function_name": "values", "respond_result": true, "return_type": "JSON"},
         {"route": "/ejson", "http_method": "*", "function_name": "values", "respond_result": true, "return_type": "EJSON"},
         {"route": "/silent", "http_method": "POST", "function_name": "hiddenMade", "respond_result": false},
         {"route": "/nothing", "http_method": "GET", "function_name": "nothing", "respond_result": true},
         {"route": "/teapot", "http_method": "GET", "function_name": "teapot", "respond_result": true},
         {"route": "/broken", "http_method": "GET", "function_name": "broken", "respond_result": true},
         {"route": "/odd", "http_method": "GET", "function_name": "odd", "respond_result": true},
         {"route": "/split", "http_method": "GET", "function_name": "split", "respond_result": true},
         {"route": "/cookie", "http_method": "GET", "function_name": "cookie", "respond_result": true},
         {"route": "/host", "http_method": "GET", "function_name": "host", "respond_result": true},
         {"route": "/unnamed", "http_method": "GET", "function_name": "unnamed", "respond_result": true},
         {"route": "/off", "http_method": "GET", "function_name": "echo", "respond_result": true, "disabled": true},
         {"route": "/who", "http_method": "GET", "function_name": "userWho", "respond_result": true},
         {"route": "/query", "http_method": "GET", "function_name": "echo", "respond_result": true,
          "validation_method": "SECRET_AS_QUERY_PARAM", "secret_name": "theSecret"},
         {"route": "/known", "http_method": "GET", "function_name": "echo", "respond_result": true,
          "validation_method": "SECRET_AS_QUERY_PARAM", "secret_name": "theSecret"},
         {"route": "/signed", "http_method": "POST", "function_name": "echo", "respond_result": true,
          "validation_method": "VERIFY_PAYLOAD", "secret_name": "theSecret"}]
        """

    private func deployed() async throws -> (TriggersFixture, TriggerApp) {
        let fixture = try await TriggersFixture.shared()
        let app = TriggerApp(functions: Self.functions, more: ["https_endpoints/config.json": Self.endpoints])
        try await fixture.deploy(app)
        return (fixture, app)
    }

    private func code(_ body: [UInt8]) -> String? { (try? ExtendedJSON.parse(body))?["error_code"]?.stringValue }

    @Test func `calls a minute are limited for a caller, and for all callers of an endpoint`() async throws {
        let (fixture, app) = try await deployed()
        func call(_ user: String?, _ target: String = "/who") async throws -> (Int, String?, [UInt8]) {
            let headers = try user.map { ["Authorization": "Bearer \(try fixture.token(app, user: $0))"] } ?? [:]
            let answer = try await fixture.request("GET", target, app: app, headers: headers)
            return (answer.status, answer.headers.value(forHTTPHeaderField: "Retry-After"), answer.body)
        }
        func refused(_ user: String?, _ target: String = "/who", after limit: Int) async throws {
            var count = 0
            while count < 10 * limit {
                let (status, wait, body) = try await call(user, target)
                if status == 429 {
                    #expect(code(body) == "TooManyRequests" && (1...60).contains(wait.flatMap { Int($0) } ?? 0))
                    break
                }
                count += 1
            }
            // Slow calls earn some more.
            #expect((limit..<10 * limit).contains(count), "\(target): \(count)")
        }
        try await refused("ann", after: 60)
        #expect(try await call("bea").0 == 200)
        try await refused("bea", after: 29)
        // Another endpoint, of which the address is counted; also wrong secrets are.
        try await refused(nil, "/query?secret=wrong", after: 60)
        #expect(try await call(nil, "/json").0 == 200)
        // In Redis, where all workers count.
        let keys = try await fixture.redis.command(["KEYS", "\(fixture.pool):endpoint-calls:*\(app.id)*"]).array ?? []
        #expect(keys.count >= 5)
        // Who doesn't know the secret takes nothing of what all callers of the endpoint have.
        #expect(!keys.contains { $0.string?.hasSuffix("endpoint\0\(app.id)\0endpoint GET /query") == true })
        for key in keys {
            // -1 would mean that it stays for ever.
            #expect(try await fixture.redis.command(["PTTL", key.string ?? ""]).int != -1)
        }
    }

    @Test func `a function gets query, headers, body and request, and needs no token as the system`() async throws {
        let (fixture, app) = try await deployed()
        let answer = try await fixture.request(
            "POST", "/echo?a=1%20x&a=2&secret=s", app: app,
            headers: ["X-Given": "h", "Authorization": "Basic own", "User-Agent": "tests"], body: Array("hi ü".utf8))
        #expect(answer.status == 200 && answer.headers.value(forHTTPHeaderField: "Content-Type") == "application/json")
        let value = try ExtendedJSON.parse(answer.body)
        #expect(value["query"]?.isIdentical(to: ["a": "1 x", "secret": "s"]) == true, "\(value)")
        #expect(value["body"] == "hi ü" && value["header"] == .array(["h"]) && value["token"] == .array(["Basic own"]))
        #expect(value["system"] == true && value["user"] == "")
        let request = try #require(value["request"])
        #expect(request["httpMethod"] == "POST" && request["remoteIPAddress"] == "127.0.0.1")
        #expect(request["httpUserAgent"] == "tests" && request["rawQueryString"] == "a=1%20x&a=2")
        #expect(request["requestHeaders"]?["X-Given"] == .array(["h"]))
        #expect(
            request["webhookUrl"]?.stringValue == "http://127.0.0.1:\(fixture.port)/app/\(app.id)/endpoint/echo")
        let bare = try await fixture.request("GET", "/echo", app: app)
        #expect(try ExtendedJSON.parse(bare.body)["body"] == "none")
    }

    @Test func `a function makes the response, except for fields of the connection and the proxy`() async throws {
        let (fixture, app) = try await deployed()
        let made = try await fixture.request("PUT", "/deep/Made/it", app: app, body: Array("it".utf8))
        #expect(made.status == 201 && made.body == Array("made it".utf8))
        #expect(made.headers.value(forHTTPHeaderField: "Content-Type") == "text/plain")
        #expect(made.headers.value(forHTTPHeaderField: "X-Two") == "a")
        #expect(made.headers.value(forHTTPHeaderField: "X-Accel-Redirect") == nil)
        let silent = try await fixture.request("POST", "/silent", app: app, body: Array("it".utf8))
        #expect(silent.status == 204 && silent.body.isEmpty)
        #expect(silent.headers.value(forHTTPHeaderField: "X-Two") == nil)
        let nothing = try await fixture.request("GET", "/nothing", app: app)
        #expect(nothing.status == 200 && nothing.body == Array("null".utf8))
        let teapot = try await fixture.request("GET", "/teapot", app: app)
        #expect(teapot.status == 418 && teapot.body.isEmpty)
    }

    /// Endpoints of all apps have the same host, which is also auth's.
    @Test func `a page has an origin of its own, and its cookies go to the app's endpoints only`() async throws {
        let (fixture, app) = try await deployed()
        let page = try await fixture.request("GET", "/cookie?cookie=mine%3D1", app: app)
        #expect(page.status == 200 && page.headers.value(forHTTPHeaderField: "Set-Cookie") == "mine=1")
        let policy = page.headers.value(forHTTPHeaderField: "Content-Security-Policy")
        #expect(policy?.contains("sandbox ") == true && policy?.contains("allow-same-origin") == false)
        let own = "/app/\(app.id)"
        for (given, confined) in [
            ("a=1; Path=/; HttpOnly", "a=1; Path=\(own); HttpOnly"), ("a=1;path=", "a=1; Path=\(own)"),
            ("a=1; Path", "a=1; Path=\(own)"), ("a=b=c; \tPATH = /app/other/endpoint", "a=b=c; Path=\(own)"),
            ("a=1; Path=\(own)er", "a=1; Path=\(own)"), ("a=1; Path=\(own)/endpoint/x", "a=1; Path=\(own)/endpoint/x"),
            ("a=1; Path=\(own)/x; Path=/", "a=1; Path=\(own)/x; Path=\(own)"),
            ("a=1; Domain=example.com; Secure", "a=1; Secure"),
            ("a=1, partita-x=2; Path=/", "a=1, partita-x=2; Path=\(own)"),
        ] {
            let query = given.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
            let answer = try await fixture.request("GET", "/cookie?cookie=\(query)", app: app)
            #expect(answer.headers.value(forHTTPHeaderField: "Set-Cookie") == confined, "\(given)")
        }
        let host = try await fixture.request("GET", "/host", app: app).headers
        #expect(["NEL", "Report-To"].allSatisfy { host.value(forHTTPHeaderField: $0) == nil })
        #expect(host.value(forHTTPHeaderField: "Partita-Left-Out") == "NEL, report-to")
        #expect(host.value(forHTTPHeaderField: "X-Own") == "1")
        let long = String(repeating: "x", count: 25_000)
        let large = try await fixture.request("GET", "/cookie?cookie=\(long)", app: app)
        #expect(large.status == 500 && code(large.body) == "FunctionExecutionError")
    }

    @Test func `a value is plain or Extended JSON, as the endpoint or the client says`() async throws {
        let (fixture, app) = try await deployed()
        let plain = Array(#"{"id":"5f1b2c3d4e5f6a7b8c9d0e1f","n":5}"#.utf8)
        let extended = Array(#"{"id":{"$oid":"5f1b2c3d4e5f6a7b8c9d0e1f"},"n":{"$numberLong":"5"}}"#.utf8)
        #expect(try await fixture.request("GET", "/json", app: app).body == plain)
        let other = try await fixture.request("GET", "/json", app: app, headers: ["Accept": "application/ejson"])
        #expect(other.body == extended)
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
            let answer = try await fixture.request(method, "/ejson", app: app)
            #expect(answer.status == 200 && answer.body == extended, "\(method)")
        }
    }

    @Test func `what can't be answered has a status and a code`() async throws {
        let (fixture, app) = try await deployed()
        let cases: [(String, String, Int, String)] = [
            ("GET", "/gone", 404, "NotFound"), ("GET", "/echo/", 404, "NotFound"), ("GET", "/off", 404, "NotFound"),
            ("GET", "/ECHO", 404, "NotFound"), ("DELETE", "/echo", 405, "MethodNotAllowed"),
            ("GET", "/broken", 400, "FunctionExecutionError"), ("GET", "/odd", 500, "FunctionExecutionError"),
            ("GET", "/split", 500, "FunctionExecutionError"), ("GET", "/unnamed", 500, "FunctionExecutionError"),
            ("GET", "/who", 401, "InvalidSession"),
        ]
        for (method, target, status, expected) in cases {
            let answer = try await fixture.request(method, target, app: app)
            #expect(answer.status == status && code(answer.body) == expected, "\(method) \(target): \(answer)")
        }
        let refused = try await fixture.request("DELETE", "/echo", app: app)
        #expect(refused.headers.value(forHTTPHeaderField: "Allow") == "GET, POST")
        let large = try await fixture.request(
            "POST", "/echo", app: app, body: [UInt8](repeating: 0x20, count: (18 << 20) + 1))
        #expect(large.status == 413 && code(large.body) == "RequestEntityTooLarge")
    }

    @Test func `a function that isn't the system's runs as the caller, and doesn't see the token`() async throws {
        let (fixture, app) = try await deployed()
        let token = try fixture.token(app, user: "bea")
        let value = try await eventually("the signing key is known") {
            let answer = try await fixture.request(
                "GET", "/who", app: app, headers: ["Authorization": "Bearer \(token)"])
            return answer.status == 200 ? try ExtendedJSON.parse(answer.body) : nil
        }
        #expect(value["id"] == "bea" && value["token"] == true)
    }

    @Test func `a function's script chooses the user of an endpoint and of clients' calls, and refuses`() async throws {
        let fixture = try await TriggersFixture.shared()
        let who = "exports = () => ({id: context.user.id, system: context.runningAsSystem()});"
        let script =
            #""run_as_user_id_script_source": "exports = given => { const key = given.query ? given.query.key : given; if (key === 'no') throw new Error('wrong key'); return key; }""#
        let app = TriggerApp(
            functions: ["userChosen": who, "guarded": who],
            more: [
                "https_endpoints/config.json": """
                [{"route": "/chosen", "http_method": "GET", "function_name": "userChosen", "respond_result": true},
                 {"route": "/guarded", "http_method": "GET", "function_name": "guarded", "respond_result": true}]
                """
            ], settings: ["userChosen": script, "guarded": script])
        try await fixture.deploy(app)
        let chosen = try await fixture.request("GET", "/chosen?key=cleo", app: app)
        #expect(try ExtendedJSON.parse(chosen.body).isIdentical(to: ["id": "cleo", "system": false]))
        let refused = try await fixture.request("GET", "/chosen?key=no", app: app)
        #expect(refused.status == 400 && String(decoding: refused.body, as: UTF8.self).contains("wrong key"))
        let nobody = try await fixture.request("GET", "/chosen", app: app)
        #expect(nobody.status == 403 && code(nobody.body) == "NoMatchingRuleFound")
        // What runs as the system in any case is only guarded.
        let guarded = try await fixture.request("GET", "/guarded", app: app)
        #expect(try ExtendedJSON.parse(guarded.body)["system"] == true)
        #expect(try await fixture.request("GET", "/guarded?key=no", app: app).status == 400)
        let token = try fixture.token(app)
        let called = try await eventually("the signing key is known") {
            let answer = try await fixture.call("userChosen", #"["dan"]"#, app: app.id, token: token)
            return answer.status == 200 ? try ExtendedJSON.parse(answer.text) : nil
        }
        #expect(called["id"] == "dan")
        #expect(try await fixture.call("userChosen", #"["no"]"#, app: app.id, token: token).status == 400)
    }

    @Test func `a secret in the query or a signature of the body is checked`() async throws {
        let (fixture, app) = try await deployed()
        let body = Array(#"{"amount": 5}"#.utf8)
        // From `openssl dgst -sha256 -hmac "the key ü"`.
        let signature = "e6e28a40a6ba6272ae27094e2943e6e3322d5f818bb504822736e02f4fc52961"
        for target in ["/query?secret=", "/query"] {
            let unset = try await fixture.request("GET", target, app: app)
            #expect(unset.status == 503 && code(unset.body) == "ServiceUnavailable")
        }
        try await fixture.registry.setSecret("theSecret", of: app.id, to: "the key ü")
        // By an endpoint of its own, since calls that are refused count as well.
        try await eventually("the secret is known") {
            try await fixture.request("GET", "/known?secret=the+key+%C3%BC", app: app).status == 200
        }
        #expect(try await fixture.request("GET", "/query?secret=the+key+%C3%BC", app: app).status == 200)
        for target in ["/query", "/query?secret=", "/query?secret=the+key+u%CC%88", "/query?secret=the+key"] {
            let refused = try await fixture.request("GET", target, app: app)
            #expect(refused.status == 401 && code(refused.body) == "Unauthorized", "\(target)")
        }
        func signed(_ header: String?, _ body: [UInt8]) async throws -> Int {
            try await fixture.request(
                "POST", "/signed", app: app, headers: header.map { ["Endpoint-Signature": $0] } ?? [:], body: body
            ).status
        }
        #expect(try await signed("sha256=" + signature, body) == 200)
        #expect(try await signed("sha256=" + signature.uppercased(), body) == 200)
        let wrong: [String?] = [
            nil, "", signature, "sha256=", "sha256=\(signature.dropLast())", "sha1=\(signature)",
        ]
        for header in wrong {
            #expect(try await signed(header, body) == 401, "\(header ?? "none")")
        }
        #expect(try await signed("sha256=" + signature, body + [0x20]) == 401)
    }

    @Test func `a page of another origin may call only if the app allows it`() async throws {
        let (fixture, app) = try await deployed()
        let page = ["Origin": "https://page.example"]
        let open = try await fixture.request("GET", "/nothing", app: app, headers: page)
        #expect(open.headers.value(forHTTPHeaderField: "Access-Control-Allow-Origin") == "https://page.example")
        var closed = TriggerApp(functions: Self.functions, more: ["https_endpoints/config.json": Self.endpoints])
        closed.more["realm_config.json"] = """
            {"config_version": 20210101, "app_id": "\(closed.id)", "name": "Test",
             "allowed_request_origins": ["https://own.example"]}
            """
        try await fixture.deploy(closed)
        let refused = try await fixture.request("GET", "/nothing", app: closed, headers: page)
        #expect(refused.status == 403 && code(refused.body) == "OriginNotAllowed")
    }
}
