import HTTPServer
import Testing

/// Requests that a proxy in front might parse differently must be refused (RFC 9112).
@Suite struct MalformedHeadTests {
    struct Probe: Sendable, CustomTestStringConvertible {
        let name: String
        let head: String
        let statuses: Set<Int>
        var testDescription: String { name }

        init(_ name: String, _ head: String, _ statuses: Int...) {
            self.name = name
            self.head = head
            self.statuses = Set(statuses)
        }
    }

    static let probes = [
        Probe("no Host", "GET / HTTP/1.1\r\n\r\n", 400),
        Probe("two Hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        Probe(
            "two Content-Lengths", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx", 400
        ),
        Probe(
            "two equal Content-Lengths",
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx", 400),
        Probe(
            "length and chunks",
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        Probe("unknown coding", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 400, 501),
        Probe(
            "two codings", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400, 501),
        Probe("chunks in HTTP/1.0", "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        Probe("sign in the length", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\nx", 400),
        Probe("negative length", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400),
        Probe("hexadecimal length", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x1\r\n\r\nx", 400),
        Probe("list of lengths", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\nx", 400),
        Probe("space before the colon", "GET / HTTP/1.1\r\nHost: a\r\nX-A : b\r\n\r\n", 400),
        Probe("space in the name", "GET / HTTP/1.1\r\nHost: a\r\nX A: b\r\n\r\n", 400),
        Probe("empty name", "GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n", 400),
        Probe(
            "empty name that ends the head", "GET / HTTP/1.1\r\nHost: a\r\n:\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n", 400
        ),
        Probe("folded line", "GET / HTTP/1.1\r\nHost: a\r\nX-A: b\r\n c\r\nX-B: c\r\n\r\n", 400),
        Probe("bare line feeds", "GET / HTTP/1.1\nHost: a\nX-A: b\n\n", 400),
        Probe("one bare line feed", "GET / HTTP/1.1\r\nHost: a\nX-A: b\r\n\r\n", 400),
        Probe("bare line feed at the end", "GET / HTTP/1.1\r\nHost: a\r\n\n", 400),
        Probe("bare carriage return", "GET / HTTP/1.1\r\nHost: a\r\nX-A: b\rc\r\n\r\n", 400),
        Probe("NUL in the target", "GET /admin\0/x HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        Probe("NUL after the method", "GET\0 / HTTP/1.1\r\nHost: a\r\n\r\n", 400, 501),
        Probe("two spaces", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        Probe("space in the target", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", 0, 400),
        Probe("NUL in a value", "GET / HTTP/1.1\r\nHost: a\r\nX-A: b\0c\r\n\r\n", 400),
        Probe("control character in a value", "GET / HTTP/1.1\r\nHost: a\r\nX-A: b\u{1}c\r\n\r\n", 400),
        Probe("line without a colon", "GET / HTTP/1.1\r\nHost: a\r\nnonsense\r\n\r\n", 400),
        Probe("unknown method", "BREW / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 405),
        Probe("method in lower case", "get / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 405),
        Probe("TRACE", "TRACE / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 405),
        Probe("CONNECT", "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n", 400, 501),
        Probe("absolute form", "GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        Probe("asterisk form", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        Probe("fragment", "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        Probe("raw bytes in the target", "GET /\u{e4} HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        Probe("unknown expectation", "GET / HTTP/1.1\r\nHost: a\r\nExpect: wonders\r\n\r\n", 417),
        Probe("HTTP/2.0", "GET / HTTP/2.0\r\nHost: a\r\n\r\n", 400, 505),
        Probe("no version", "GET /\r\nHost: a\r\n\r\n", 400, 505),
        Probe("not HTTP", "SSH-2.0-OpenSSH_9.6\r\n\r\n", 0, 400, 501, 505),
        Probe(
            "too many fields", "GET / HTTP/1.1\r\nHost: a\r\n" + String(repeating: "X-A: b\r\n", count: 101) + "\r\n",
            431),
        Probe(
            "a field too long",
            "GET / HTTP/1.1\r\nHost: a\r\nX-A: " + String(repeating: "b", count: 40000) + "\r\n\r\n", 413, 431),
        Probe(
            "a target too long", "GET /" + String(repeating: "b", count: 40000) + " HTTP/1.1\r\nHost: a\r\n\r\n", 414,
            431),
    ]

    @Test(arguments: probes) func `is refused and the connection ends`(_ probe: Probe) async throws {
        let reached = Box(false)
        try await withServer(routes: { router in
            for method in HTTPMethod.allCases where method != .other {
                router.on(method, "/*any") { _ in
                    reached.update { $0 = true }
                    return .noContent
                }
            }
        }) { server in
            let client = try RawClient(port: server.port)
            try await client.send(probe.head)
            let answer = String(decoding: try await client.takeAll(), as: UTF8.self)
            // Zero: closed without an answer.
            let status = answer.isEmpty ? 0 : Int(answer.dropFirst(9).prefix(3))
            #expect(probe.statuses.contains(status ?? -1), "\(answer)")
            #expect(!reached.value)
            // It doesn't affect the next request.
            #expect(try await request(server.port, "GET /a").status == 204)
        }
    }

    /// The longest head that a request may have, in a field or in the target, and a head of a response that is nearly as long.
    @Test func `heads of 32 KiB are read, and larger ones are answered in JSON`() async throws {
        try await withServer(routes: { router in
            router.get("/*any") { request in
                var response = HTTPResponse.text(
                    "\(request.path.utf8.count) \((request.headers["x-a"] ?? "").utf8.count)")
                response.headers["X-Long"] = String(repeating: "c", count: 30_000)
                return response
            }
        }) { server in
            let limit = HTTPServerConfiguration().headBytes
            func head(path: Int, total: Int) -> String {
                let start = "GET /" + String(repeating: "a", count: path - 1) + " HTTP/1.1\r\nHost: a\r\nX-A: "
                return start + String(repeating: "b", count: total - start.utf8.count - 4) + "\r\n\r\n"
            }
            for path in [1, limit / 2, limit - 100] {
                let answer = try await RawClient(port: server.port).exchange(head(path: path, total: limit))
                #expect(answer.status == 200 && answer.text.hasPrefix("\(path) "), "\(path): \(answer.status)")
                #expect(answer.headers["x-long"]?.utf8.count == 30_000)
                let large = try await RawClient(port: server.port).exchange(head(path: path, total: limit + 1))
                #expect(
                    large.status == 431 && large.text.contains("RequestHeaderFieldsTooLarge"),
                    "\(path): \(large.status)")
            }
            let target = try await RawClient(port: server.port).exchange(head(path: limit + 1, total: limit + 100))
            #expect(target.status == 414 && target.text.contains("URITooLong"))
        }
    }

    @Test func `an unusual but valid request is served`() async throws {
        try await withServer(routes: { router in
            router.post("/*any") { .text("\($0.headers["x-a"] ?? "-")|\($0.headers["x-b"] ?? "-")|\($0.body.count)") }
        }) { server in
            let client = try RawClient(port: server.port)
            let first = try await client.exchange(
                "POST /a?b=%41&c HTTP/1.1\r\nhOST:a\r\nX-A: \t b c \t\r\nX-B:\r\nContent-Length: 3\r\n\r\n\0\0\0")
            #expect(first.text == "b c||3")
            // An empty line before a request is skipped (RFC 9112, section 2.2).
            let second = try await client.exchange(
                "\r\nPOST / HTTP/1.1\r\nHost: a\r\nCookie: a=b; c\r\nTransfer-Encoding: Chunked\r\n\r\n1\r\n\0\r\n0\r\n\r\n"
            )
            #expect(second.text == "-|-|1")
        }
    }
}
