import EventLoop
import Foundation
import HTTPClient
import Testing

@Suite struct HTTPClientTests {
    let loop = EventLoop(name: "http-client")
    let server: LocalServer
    let seen = Locked<[LocalRequest]>([])

    init() throws {
        server = try LocalServer { [seen] connection in
            while let request = LocalRequest(connection) {
                seen.withLock { $0.append(request) }
                guard Self.answer(request, on: connection) else { return }
            }
        }
    }

    @Test func `method, headers and body arrive, and status, headers and body come back`() async throws {
        let response = try await client().send(
            .init(
                method: "PATCH", url: url("/echo?a=b%20c"),
                headers: [.init("X-One", "1"), .init("X-Empty", ""), .init("Content-Type", "application/json")],
                body: Array(#"{"a":1}"#.utf8)))
        #expect(response.status == 200)
        #expect(response.text == #"{"a":1}"#)
        #expect(response[header: "x-reply"] == "yes, indeed")
        #expect(response.values(ofHeader: "Set-Cookie") == ["a=1", "b=2"])
        let request = try #require(seen.withLock { $0.first })
        #expect(request.method == "PATCH")
        #expect(request.target == "/echo?a=b%20c")
        #expect(request.headers["x-one"] == "1")
        #expect(request.headers["x-empty"] == "")
        #expect(request.headers["content-type"] == "application/json")
        #expect(request.headers["content-length"] == "7")
    }

    @Test(arguments: ["GET", "HEAD", "DELETE", "OPTIONS", "POST", "PUT"])
    func `every method works without a body`(method: String) async throws {
        let response = try await client().send(.init(method: method, url: url("/echo")))
        #expect(response.status == 200)
        let request = try #require(seen.withLock { $0.first })
        #expect(request.method == method)
        #expect(request.headers["content-length"] == (["POST", "PUT"].contains(method) ? "0" : nil))
        #expect(request.headers["content-type"] == nil)
    }

    @Test func `connections are reused`() async throws {
        let client = client()
        for _ in 0..<20 { _ = try await client.send(.init(url: url("/echo"))) }
        #expect(server.connections == 1)
    }

    /// A server that has carried out a request may end before it answers.
    @Test(arguments: ["POST", "PATCH"])
    func `what mustn't happen twice is sent once, also if its connection dies`(method: String) async throws {
        let client = client()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 { group.addTask { _ = try await client.send(.init(url: url("/echo"))) } }
            try await group.waitForAll()
        }
        await #expect(throws: HTTPClientError.self) {
            try await client.send(.init(method: method, url: url("/hang-up"), body: Array("pay".utf8)))
        }
        #expect(seen.withLock { $0.count { $0.target == "/hang-up" } } == 1)
    }

    @Test func `many requests at once share the connections that are allowed`() async throws {
        var configuration = HTTPClient.Configuration()
        configuration.maximumConnectionsPerHost = 3
        let client = HTTPClient(loop: loop, configuration: configuration)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<60 {
                group.addTask {
                    let body = Array("\(number)".utf8)
                    let response = try await client.send(.init(method: "PUT", url: url("/echo"), body: body))
                    #expect(response.body == body)
                }
            }
            try await group.waitForAll()
        }
        #expect(server.connections <= 3)
    }

    @Test func `large bodies are sent and received completely`() async throws {
        let body = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let response = try await client().send(.init(method: "PUT", url: url("/echo"), body: body))
        #expect(response.body == body)
    }

    @Test func `a collected body is charged to the memory of whom it is for`() async throws {
        let client = client(), budget = InflightBudget(limit: 6 << 20)
        let request = HTTPClient.Request(
            method: "PUT", url: url("/echo"), body: [UInt8](repeating: 7, count: 2 << 20))
        let first = InflightShare(of: budget, for: 1), second = InflightShare(of: budget, for: 1)
        let response = try await InflightShare.$current.withValue(first) { try await client.send(request) }
        #expect(response.body.count == 2 << 20)
        // The same sender's next one would leave less to others than it holds.
        await expect(.overloaded) {
            try await InflightShare.$current.withValue(second) { try await client.send(request) }
        }
        second.release()
        let other = InflightShare(of: budget, for: 2)
        _ = try await InflightShare.$current.withValue(other) { try await client.send(request) }
        other.release()
        first.release()
        _ = try await InflightShare.$current.withValue(second) { try await client.send(request) }
    }

    @Test func `a redirect is an answer, and is followed when asked for`() async throws {
        let client = client()
        var request = HTTPClient.Request(url: url("/redirect"))
        let redirect = try await client.send(request)
        #expect(redirect.status == 302)
        #expect(redirect[header: "Location"] == "/echo")
        request.maximumRedirects = 1
        let target = try await client.send(request)
        #expect(target.status == 200)
        #expect(target[header: "Location"] == nil)
        request.url = url("/redirect-for-ever")
        request.maximumRedirects = 3
        await expect(.tooManyRedirects) { [request] in try await client.send(request) }
    }

    @Test func `digest authentication answers the server's challenge`() async throws {
        var request = HTTPClient.Request(method: "POST", url: url("/digest"), body: Array("body".utf8))
        #expect(try await client().send(request).status == 401)
        request.digestAuthentication = .init(username: "ann", password: "secret")
        let response = try await client().send(request)
        #expect(response.status == 200)
        #expect(response.text == "body")
        let header = seen.withLock { $0.last }?.headers["authorization"] ?? ""
        #expect(header.hasPrefix("Digest username=\"ann\""), "\(header)")
        #expect(!header.contains("secret"))
    }

    @Test func `no answer in time is a timeout`() async {
        let start = ContinuousClock.now
        await expect(.timeout) { try await client().send(.init(url: url("/silence"), timeout: .milliseconds(50))) }
        #expect(ContinuousClock.now - start < .seconds(30))
    }

    @Test func `a body above the limit is refused, announced or not`() async {
        let client = client()
        for path in ["/large", "/endless"] {
            await expect(.tooLarge) {
                try await client.send(.init(url: url(path), maximumResponseBytes: 10_000))
            }
        }
    }

    @Test func `transport errors have codes`() async throws {
        let client = client()
        // Nothing listens on tcpmux(1).
        await expect(.connect) { try await client.send(.init(url: "http://127.0.0.1:1/")) }
        await expect(.connectionLost) { try await client.send(.init(url: url("/hang-up"))) }
        await expect(.connectionLost) { try await client.send(.init(url: url("/half"))) }
        await expect(.tls) { try await client.send(.init(url: "https://127.0.0.1:\(server.port)/echo")) }
        await expect(.resolve) { try await client.send(.init(url: "http://host.invalid/")) }
    }

    @Test(arguments: [
        HTTPClient.Request(url: "ftp://127.0.0.1/"), .init(url: "file:///etc/passwd"), .init(url: "nonsense"),
        .init(url: ""), .init(method: "GET /x", url: "http://127.0.0.1/"), .init(url: "http://127.0.0.1/\0"),
        .init(url: "http://127.0.0.1/", headers: [.init("A", "b\r\nC: d")]),
        .init(url: "http://127.0.0.1/", headers: [.init("A:", "b")]),
    ])
    func `a request that can't be sent is refused`(request: HTTPClient.Request) async {
        await #expect { try await client().send(request) } throws: { error in
            [.invalidRequest, .resolve].contains((error as? HTTPClientError)?.code)
        }
    }

    @Test func `cancelling aborts the exchange`() async throws {
        let client = client()
        let task = Task { try await client.send(.init(url: url("/silence"))) }
        while seen.withLock({ $0.isEmpty }) { await Task.yield() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try await client.send(.init(url: url("/echo"))).status == 200)
    }

    @Test func `shutting down ends requests in flight and refuses new ones`() async throws {
        let client = client()
        let task = Task { try await client.send(.init(url: url("/silence"))) }
        while seen.withLock({ $0.isEmpty }) { await Task.yield() }
        await client.shutDown()
        await expect(.closed) { try await task.value }
        await expect(.closed) { try await client.send(.init(url: url("/echo"))) }
        #expect(await loop.shutDown())
    }

    @Test func `a download is handed over in parts, and waits for a slow reader`() async throws {
        let parts = Locked<[Int]>([])
        let status = Locked(0)
        let response = try await client().download(.init(url: url("/large"), maximumResponseBytes: 10 << 20)) {
            response in
            status.withLock { $0 = response.status }
        } receive: { part in
            #expect(status.withLock { $0 } == 200)
            parts.withLock { $0.append(part.count) }
            await Task.yield()
        }
        #expect(response.body.isEmpty)
        #expect(parts.withLock { $0.reduce(0, +) } == 4_000_000)
        #expect(parts.withLock { $0.max() ?? 0 } <= 512 << 10)
    }

    @Test func `an error of the reader ends the download`() async throws {
        struct Enough: Error {}
        let client = client()
        await #expect(throws: Enough.self) {
            try await client.download(.init(url: url("/endless"))) { _ in throw Enough() }
        }
        #expect(try await client.send(.init(url: url("/echo"))).status == 200)
    }

    private func client() -> HTTPClient { HTTPClient(loop: loop) }

    private func url(_ path: String) -> String { "http://127.0.0.1:\(server.port)\(path)" }

    private func expect(
        _ code: HTTPClientError.Code, _ body: () async throws -> HTTPClient.Response,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        let error = await #expect(throws: HTTPClientError.self, sourceLocation: sourceLocation) { try await body() }
        #expect(error?.code == code, sourceLocation: sourceLocation)
    }

    /// Returns whether the connection can be used again.
    private static func answer(_ request: LocalRequest, on connection: LocalConnection) -> Bool {
        switch request.target {
        case "/redirect":
            return connection.write("HTTP/1.1 302 Found\r\nLocation: /echo\r\nContent-Length: 0\r\n\r\n")
        case "/redirect-for-ever":
            return connection.write("HTTP/1.1 307 Again\r\nLocation: /redirect-for-ever\r\nContent-Length: 0\r\n\r\n")
        case "/digest" where request.headers["authorization"]?.contains("response=") != true:
            return connection.write(
                "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\"\r\nContent-Length: 0\r\n\r\n"
            )
        case "/silence":
            return LocalRequest(connection) != nil
        case "/hang-up":
            return false
        case "/half":
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
            return false
        case "/large":
            return connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4000000\r\n\r\n")
                && connection.write([UInt8](repeating: 7, count: 4_000_000))
        case "/endless":
            connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            while connection.write("1000\r\n" + String(repeating: "x", count: 4096) + "\r\n") {}
            return false
        default:
            let length = request.method == "HEAD" ? 0 : request.body.count
            return connection.write(
                "HTTP/1.1 200 OK\r\nX-Reply:  yes, indeed \r\nSet-Cookie: a=1\r\nset-cookie: b=2\r\n"
                    + "Content-Length: \(length)\r\n\r\n")
                && connection.write(request.body)
        }
    }
}
