import Foundation
import HTTPServer
import LocalEngines
import Testing
import WebSocket

/// nginx with the configuration of `Deploy`: services that come and go behind it, and its own answers.
@Suite struct RolledOutProxyTests {
    private static let origin = "Origin: https://page.example"

    /// A server on a loopback address of its own, which stands for all services and answers with its name.
    private func withInstance<Result>(
        _ address: String, port: Int, isReady: Box<Bool> = Box(true), _ body: () async throws -> Result
    ) async throws -> Result {
        try await withServer { configuration in
            configuration.address = address
            configuration.port = port
        } routes: { router in
            router.get("/which") { _ in HTTPResponse(body: Array(address.utf8)) }
            router.get("/health/ready") { _ in HTTPResponse(status: isReady.value ? 200 : 503) }
            router.echo("/v1/apps/:app/sync")
            router.get("/api/client/v2.0/app/:app/functions/call") { _ in
                HTTPResponse(
                    headers: ["Content-Type": "text/event-stream", "X-Accel-Buffering": "no"],
                    stream: HTTPBodyStream { writer in
                        for await _ in AsyncStream(unfolding: { try? await Task.sleep(for: .milliseconds(100)) }) {
                            try await writer.write("data: 1\n\n")
                        }
                    })
            }
        } _: { _ in
            try await body()
        }
    }

    private func withNames<Result>(
        _ addresses: [String], _ body: (NameServer) async throws -> Result
    ) async throws -> Result {
        let names = try NameServer()
        defer { names.close() }
        for service in RolledOutProxy.services { names.set(service, addresses) }
        return try await body(names)
    }

    @Test func `a service that comes back at another address is found without a restart`() async throws {
        let port = try LocalPort.free()
        try await withNames(["127.0.0.2"]) { names in
            try await RolledOutProxy.with(servicePort: port, names: names) { proxy in
                try await withInstance("127.0.0.2", port: port) {
                    try await eventually("the first answers") {
                        try await request(proxy.port, "GET /which").text == "127.0.0.2"
                    }
                }
                let away = try await request(proxy.port, "GET /which", headers: [Self.origin])
                #expect(away.status == 503)
                names.set("auth", [])
                try await eventually("its name is gone") {
                    try await request(proxy.port, "GET /which").status == 503
                }
                try await withInstance("127.0.0.3", port: port) {
                    names.set("auth", ["127.0.0.3"])
                    try await eventually("the other one answers") {
                        try await request(proxy.port, "GET /which").text == "127.0.0.3"
                    }
                }
            }
        }
    }

    @Test(arguments: [70_000, 200_000, 3_000_000])
    func `a client gets a service's refusal of a body that is too large`(count: Int) async throws {
        let body = String(repeating: "x", count: count)
        try await withNames(["127.0.0.1"]) { names in
            try await withServer(routes: { $0.put("/api/admin/v1/secret", bodyLimit: 64 << 10) { _ in .noContent } }) {
                server in
                try await RolledOutProxy.with(servicePort: server.port, names: names) { proxy in
                    for _ in 0..<10 {
                        let answer = try await request(proxy.port, "PUT /api/admin/v1/secret", body: body)
                        #expect(answer.status == 413, "\(answer.text)")
                        #expect(answer.text.contains("larger than 65536 bytes"), "\(answer.text)")
                    }
                }
            }
        }
    }

    @Test(arguments: [
        "/app/a/endpoint/x", "/api/client/v2.0/app/a/functions/call", "/app/a/endpoint/data/v1/action/find",
        "/api/client/v2.0/app/a/auth/providers/custom-function/login",
    ])
    func `a service is asked before a body is finished, which the proxy doesn't keep`(_ path: String) async throws {
        let service = try ScriptedServer()
        defer { service.close() }
        try await withNames(["127.0.0.1"]) { names in
            try await RolledOutProxy.with(servicePort: service.port, names: names) { proxy in
                async let asked: Void = service.answer { _ in Array("HTTP/1.1 204 No Content\r\n\r\n".utf8) }
                let client = try RawClient(port: proxy.port)
                let body = String(repeating: "x", count: 199_999)
                let answer = try await client.exchange(
                    "POST \(path) HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n\(body)")
                #expect(answer.status == 204)
                await client.close()
                try await asked
            }
        }
    }

    @Test func `a process that hangs costs a client less than half a minute`() async throws {
        // It accepts no connection, as a stopped process.
        let hanging = try ScriptedServer()
        defer { hanging.close() }
        try await withNames(["127.0.0.1"]) { names in
            try await RolledOutProxy.with(servicePort: hanging.port, names: names) { proxy in
                let start = ContinuousClock.now
                let base = "/api/client/v2.0"
                async let signIn = request(
                    proxy.port, "POST \(base)/app/a/auth/providers/local-userpass/login", headers: [Self.origin])
                async let refresh = request(proxy.port, "POST \(base)/auth/session", headers: [Self.origin])
                async let profile = request(proxy.port, "GET \(base)/auth/profile", headers: [Self.origin])
                for answer in [try await signIn, try await refresh, try await profile] {
                    #expect(answer.status == 503 && answer.text.contains("ServiceUnavailable"))
                }
                #expect(ContinuousClock.now - start < .seconds(30))
            }
        }
    }

    @Test func `instances that are added get their share`() async throws {
        let port = try LocalPort.free()
        try await withNames(["127.0.0.2"]) { names in
            try await RolledOutProxy.with(servicePort: port, names: names) { proxy in
                try await withInstance("127.0.0.2", port: port) {
                    try await withInstance("127.0.0.3", port: port) {
                        names.set("auth", ["127.0.0.2", "127.0.0.3"])
                        let seen = Box<Set<String>>([])
                        try await eventually("both answer") {
                            let text = try await request(proxy.port, "GET /which").text
                            seen.update { $0.insert(text) }
                            return seen.value == ["127.0.0.2", "127.0.0.3"]
                        }
                    }
                    // The name server still lists the one that ended; the other one takes its share.
                    for _ in 1...20 { #expect(try await request(proxy.port, "GET /which").text == "127.0.0.2") }
                }
            }
        }
    }

    @Test(arguments: [
        ("GET /app/a/endpoint/x", 1), ("PUT /api/client/v2.0/app/a/service/s/incoming_webhook/x", 1),
        ("GET /api/client/v2.0/auth/profile", 2),
    ])
    func `a call that runs a function isn't given to another instance when its instance ends`(
        line: String, count: Int
    ) async throws {
        // All instances, each of which ends when it has read a request.
        let instances = try ScriptedServer(isEverywhere: true)
        let reached = Box(0)
        try await withNames(["127.0.0.2", "127.0.0.3"]) { names in
            try await RolledOutProxy.with(servicePort: instances.port, names: names) { proxy in
                let running = Task {
                    while true {
                        try await instances.answer { _ in
                            reached.update { $0 += 1 }
                            return []
                        }
                    }
                }
                let answer = try await request(proxy.port, line, headers: [Self.origin])
                #expect(answer.status == 503 && reached.value == count)
                instances.close()
                _ = await running.result
            }
        }
    }

    @Test(arguments: RolledOutProxy.services)
    func `it is ready when every service is`(_ service: String) async throws {
        let port = try LocalPort.free()
        let isReady = Box(true)
        try await withNames(["127.0.0.2"]) { names in
            names.set(service, ["127.0.0.3"])
            try await RolledOutProxy.with(servicePort: port, names: names) { proxy in
                func status() async throws -> Int { try await request(proxy.port, "GET /health/ready").status }
                try await withInstance("127.0.0.2", port: port) {
                    try await eventually("one is away") { try await status() == 503 }
                    try await withInstance("127.0.0.3", port: port, isReady: isReady) {
                        try await eventually("all are ready") { try await status() == 200 }
                        isReady.update { $0 = false }
                        try await eventually("one isn't ready") { try await status() == 503 }
                    }
                }
                #expect(try await request(proxy.port, "GET /.ready/auth").status == 404)
            }
        }
    }

    @Test func `its own answers are JSON that a page may read`() async throws {
        let port = try LocalPort.free()
        try await withNames(["127.0.0.2"]) { names in
            try await RolledOutProxy.with(
                servicePort: port, names: names, settings: ["PARTITA_PROXY_REQUESTS": "1", "PARTITA_PROXY_BURST": "9"]
            ) { proxy in
                func expect(_ answer: RawResponse, _ status: Int, _ code: String) throws {
                    #expect(answer.status == status)
                    #expect(answer.headers["content-type"] == "application/json")
                    #expect(answer.headers["access-control-allow-origin"] == "https://page.example")
                    #expect(answer.headers["vary"] == "Origin")
                    let body = try JSONDecoder().decode([String: String].self, from: Data(answer.body))
                    #expect(body["error_code"] == code && body["error"]?.isEmpty == false, "\(answer.text)")
                }
                let large = [Self.origin, "Content-Length: 99999999"]
                try expect(try await request(proxy.port, "POST /x", headers: large), 413, "RequestEntityTooLarge")
                try expect(try await request(proxy.port, "GET /x", headers: [Self.origin]), 503, "ServiceUnavailable")
                try expect(try await request(proxy.port, "GET /metrics", headers: [Self.origin]), 404, "NotFound")
                try expect(try await request(proxy.port, "TRACE /x", headers: [Self.origin]), 405, "BadRequest")
                let head = [Self.origin, "X: " + String(repeating: "x", count: 40_000)]
                try expect(try await request(proxy.port, "GET /x", headers: head), 400, "BadRequest")
                let limited = Box<RawResponse?>(nil)
                try await eventually("there are too many") {
                    let answer = try await request(proxy.port, "GET /x", headers: [Self.origin])
                    limited.update { $0 = answer.status == 429 ? answer : nil }
                    return limited.value != nil
                }
                let answer = try await limited.present()
                try expect(answer, 429, "TooManyRequests")
                #expect(answer.headers["retry-after"] == "1")
                #expect(answer.headers["access-control-expose-headers"] == "Retry-After")
                // If the preflight were refused, the page couldn't see the reason.
                #expect(try await request(proxy.port, "OPTIONS /x").status == 503)
            }
        }
    }

    @Test func `the sockets of an address are limited, and a balancer in front has many addresses`() async throws {
        let port = try LocalPort.free()
        try await withNames(["127.0.0.2"]) { names in
            try await RolledOutProxy.with(
                servicePort: port, names: names, settings: ["PARTITA_PROXY_SOCKETS": "2"]
            ) { proxy in
                try await withInstance("127.0.0.2", port: port) {
                    func open(_ address: String) async throws -> (RawClient, RawResponse) {
                        let client = try RawClient(port: proxy.port)
                        let answer = try await client.exchange(
                            """
                            GET /v1/apps/a/sync HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: \(address)\r
                            Upgrade: websocket\r\nConnection: Upgrade\r
                            Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n
                            """)
                        return (client, answer)
                    }
                    let first = try await open("192.0.2.1")
                    let second = try await open("192.0.2.1")
                    #expect(first.1.status == 101 && second.1.status == 101)
                    #expect(try await open("192.0.2.1").1.status == 429)
                    let other = try await open("192.0.2.2")
                    #expect(other.1.status == 101)
                    for (client, _) in [first, second, other] { await client.close() }
                }
            }
        }
    }

    @Test func `streams of changes aren't buffered, and are limited apart from calls`() async throws {
        let port = try LocalPort.free()
        try await withNames(["127.0.0.2"]) { names in
            try await RolledOutProxy.with(
                servicePort: port, names: names, settings: ["PARTITA_PROXY_SOCKETS": "2", "PARTITA_PROXY_CALLS": "1"]
            ) { proxy in
                try await withInstance("127.0.0.2", port: port) {
                    let path = "/api/client/v2.0/app/a/functions/call"
                    func open() async throws -> RawClient {
                        let client = try RawClient(port: proxy.port)
                        try await client.send("GET \(path)?baas_request=x HTTP/1.1\r\nHost: x\r\n\r\n")
                        var text = ""
                        while !text.hasSuffix("data: 1\n") {
                            text += String(decoding: try await client.take(1), as: UTF8.self)
                        }
                        return client
                    }
                    let clients = [try await open(), try await open()]
                    #expect(try await request(proxy.port, "GET \(path)").status == 429)
                    // The service has no such route, but the proxy lets the call through.
                    #expect(try await request(proxy.port, "POST \(path)").status == 405)
                    #expect(try await request(proxy.port, "GET /which").status == 200)
                    for client in clients { await client.close() }
                }
            }
        }
    }

    @Test func `a token in a query isn't logged`() async throws {
        let port = try LocalPort.free()
        try await withNames(["127.0.0.2"]) { names in
            try await RolledOutProxy.with(
                servicePort: port, names: names, settings: ["PARTITA_PROXY_REQUESTS": "1", "PARTITA_PROXY_BURST": "3"]
            ) { proxy in
                // Found and not, away, too large, too many.
                for path in ["/which", "/v1/apps/a/media/x", "/metrics", "/health/live"] {
                    _ = try await request(proxy.port, "GET \(path)?baas_at=SECRET&x=1", headers: ["Referer: /?SECRET"])
                }
                let large = ["Content-Length: 99999999"]
                _ = try await request(proxy.port, "POST /a%20b?baas_at=SECRET", headers: large)
                for _ in 1...8 { _ = try await request(proxy.port, "GET /which?baas_at=SECRET") }
                try await eventually("all are logged") { try proxy.lines.count >= 13 }
                #expect(try proxy.lines.contains { $0.contains(#""path":"/a%20b","status":"413""#) })
                #expect(try proxy.lines.contains { $0.contains(#""status":"429""#) })
                #expect(try proxy.lines.contains { $0.contains(#""path":"/which","status":"503""#) })
                #expect(try !proxy.lines.contains { $0.contains("SECRET") })
            }
        }
    }
}
