import AppDefinition
import DocumentModel
import EventLoop
import FunctionProtocol
import Functions
import HTTPClient
import HTTPServer
import Logging
import Metrics
import Testing

/// What requests of functions send, and what they get.
@Suite struct HTTPCallTests {
    /// A server that answers with what it got.
    private final class Echo: Sendable {
        let loops = LoopGroup(1, name: "echo")
        let server: HTTPServer

        init() async throws {
            var router = HTTPRouter()
            let echo: @Sendable (HTTPRequest) async throws -> HTTPResponse = { request in
                let fields: Document = [
                    "type": request.headers["content-type"].map { .string($0) } ?? .null,
                    "cookie": request.headers["cookie"].map { .string($0) } ?? .null,
                    "authorization": request.headers["authorization"].map { .string($0) } ?? .null,
                    "body": .string(String(decoding: request.body, as: UTF8.self)),
                ]
                return .json(ExtendedJSON.print(fields, mode: .relaxed))
            }
            router.post("/echo", echo)
            router.get("/echo", echo)
            router.get("/login") { _ in
                var response = HTTPResponse.noContent
                response.headers.add("Set-Cookie", "session=s1; Path=/; HttpOnly")
                response.headers.add("Set-Cookie", "team=red")
                return response
            }
            router.get("/silent") { _ in
                try await Task.sleep(for: .seconds(30))  // longer than the test
                return .noContent
            }
            router.get("/nothing") { _ in .noContent }
            router.get("/fields") { _ in
                HTTPResponse(headers: [
                    "content-type": "text/plain", "X-a": "1", "x-request-ID": "r", "x-A": "2", "ETAG": "e",
                ])
            }
            server = HTTPServer(
                HTTPServerConfiguration(address: "127.0.0.1", port: 0), router: router, loops: loops.loops,
                logger: Logger(label: "echo"), registry: MetricsRegistry())
            try await server.start()
        }

        static func app(_ id: String = "test") throws -> AppDefinition {
            var files = AppFiles()
            files.texts["realm_config.json"] = #"{"config_version": 20210101, "app_id": "\#(id)", "name": "Test"}"#
            return try AppDefinition(files: files)
        }

        func call(_ action: String, _ arguments: Document) async throws -> Document {
            let effects = OutsideEffects(http: HTTPClient(loop: loops.loops[0]))
            let effect = FunctionEffect(
                ordinal: 0, service: "http", action: action, arguments: arguments, function: "f")
            let answer = try await effects.perform(effect, of: Self.app(), as: .system).get()
            return try #require(answer.documentValue)
        }

        func echoed(_ answer: Document) throws -> Document {
            guard case .binary(let body)? = answer["body"] else { return [:] }
            return try ExtendedJSON.parseDocument(body.bytes)
        }

        var url: String { "http://127.0.0.1:\(server.port)" }

        func stop() async {
            await server.stop(drainingFor: .zero)
            await loops.shutDown()
        }
    }

    private static func with(_ body: (Echo) async throws -> Void) async throws {
        let echo = try await Echo()
        do { try await body(echo) } catch {
            await echo.stop()
            throw error
        }
        await echo.stop()
    }

    @Test func `a form is sent as its content type says`() async throws {
        try await Self.with { echo in
            let form: Value = ["name": "Ann & Ben", "tags": .array(["a", "b"])]
            let usual = try echo.echoed(
                try await echo.call("post", ["url": .string(echo.url + "/echo"), "form": form]))
            #expect(usual["type"] == "application/x-www-form-urlencoded")
            #expect(usual["body"] == "name=Ann%20%26%20Ben&tags=a&tags=b")

            let parts = try echo.echoed(
                try await echo.call(
                    "post",
                    [
                        "url": .string(echo.url + "/echo"),
                        "form": ["to": "ann", "photo \"1\"": .binary(Binary(Array("bytes".utf8), subtype: 0))],
                        "headers": ["content-type": .array(["multipart/form-data"])],
                    ]))
            let type = try #require(parts["type"]?.stringValue)
            let boundary = try #require(type.split(separator: "=").last)
            #expect(type.hasPrefix("multipart/form-data; boundary="))
            #expect(
                parts["body"]?.stringValue
                    == [
                        "--\(boundary)", "Content-Disposition: form-data; name=\"to\"", "", "ann", "--\(boundary)",
                        "Content-Disposition: form-data; name=\"photo %221%22\"; filename=\"photo %221%22\"",
                        "Content-Type: application/octet-stream", "", "bytes", "--\(boundary)--", "",
                    ].joined(separator: "\r\n"))

            let failure = await #expect(throws: EffectFailure.self) {
                try await echo.call(
                    "post",
                    [
                        "url": .string(echo.url + "/echo"), "form": form,
                        "headers": ["Content-Type": .array(["application/json"])],
                    ])
            }
            #expect(failure?.message == "http.post: a form can't be sent as application/json")
        }
    }

    @Test func `requests that nobody answers leave places for other apps, and for other users`() async throws {
        try await Self.with { echo in
            var configuration = HTTPClient.Configuration()
            configuration.maximumRequests = 8
            let effects = OutsideEffects(http: HTTPClient(loop: echo.loops.loops[0], configuration: configuration))
            @Sendable func get(_ url: String, of app: String, by user: String) async throws -> Value {
                let effect = FunctionEffect(
                    ordinal: 0, service: "http", action: "get", arguments: ["url": .string(url)], function: "f")
                return try await effects.perform(effect, of: Echo.app(app), as: .system, for: user).get()
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<40 {
                    group.addTask { _ = try? await get(echo.url + "/silent", of: "busy", by: "eve") }
                }
                try await Task.sleep(for: .milliseconds(200))  // they have what they can get
                for (app, user) in [("other", "ann"), ("busy", "bob")] {
                    let answer = try await withTimeout(.seconds(10)) {
                        try await get(echo.url + "/echo", of: app, by: user)
                    }
                    #expect(answer["statusCode"]?.intValue == 200, "\(app) \(user)")
                }
                group.cancelAll()
            }
        }
    }

    @Test func `authUrl gives the request its cookies`() async throws {
        try await Self.with { echo in
            let call: Document = [
                "url": .string(echo.url + "/echo"), "authUrl": .string(echo.url + "/login"),
                "headers": ["Cookie": .array(["own=1"])],
            ]
            let answer = try await echo.call("get", call)
            #expect(try echo.echoed(answer)["cookie"] == "own=1; session=s1; team=red")
            #expect(answer["cookies"] == .document([:]))
            let login = try await echo.call("get", ["url": .string(echo.url + "/login")])
            #expect(login["cookies"] == ["session": "s1", "team": "red"])
            #expect(login["contentLength"] == .int64(0))
            for (path, status) in [("/nothing", 204), ("/absent", 404)] {
                var refused = call
                refused["authUrl"] = .string(echo.url + path)
                let failure = await #expect(throws: EffectFailure.self) { try await echo.call("get", refused) }
                #expect(failure?.message.contains("authUrl was answered with status \(status)") == true)
            }
        }
    }

    @Test func `an object is sent as JSON, and a URL's credentials are used`() async throws {
        try await Self.with { echo in
            let json = try echo.echoed(
                try await echo.call(
                    "post",
                    ["url": .string(echo.url + "/echo"), "body": ["n": .int32(1)], "encodeBodyAsJSON": true]))
            #expect(json["type"] == "application/json")
            #expect(json["body"] == "{\"n\":1}")
            let address = "http://ann:p%40ss@127.0.0.1:\(echo.server.port)/echo"
            let basic = try echo.echoed(try await echo.call("get", ["url": .string(address)]))
            #expect(basic["authorization"] == "Basic YW5uOnBAc3M=")
            // The server doesn't ask for it, so nothing is sent, and nothing is refused.
            let digest = try await echo.call("get", ["url": .string(address), "digestAuth": true])
            #expect(digest["statusCode"]?.intValue == 200)
            let failure = await #expect(throws: EffectFailure.self) {
                try await echo.call("get", ["url": .string(echo.url + "/echo"), "digestAuth": true])
            }
            #expect(failure?.message.contains("digestAuth needs a username") == true)
            for (name, password) in [("ann\r\nX-Evil: 1", "p"), ("ann", "p\n\nGET / HTTP/1.1")] {
                let call: Document = [
                    "url": .string(echo.url + "/echo"), "digestAuth": true, "username": .string(name),
                    "password": .string(password),
                ]
                await #expect(throws: (any Error).self) { try await echo.call("get", call) }
            }
        }
    }

    @Test func `names of header fields are written as App Services did, however the server writes them`() async throws {
        try await Self.with { echo in
            let answer = try await echo.call("get", ["url": .string(echo.url + "/fields")])
            let headers = try #require(answer["headers"]?.documentValue)
            #expect(headers["Content-Type"] == .array(["text/plain"]))
            #expect(headers["X-A"] == .array(["1", "2"]))
            #expect(headers["X-Request-Id"] == .array(["r"]))
            #expect(headers["Etag"] == .array(["e"]))
            for name in ["content-type", "X-a", "x-A", "ETAG"] { #expect(headers[name] == nil, "\(name)") }
        }
    }
}
