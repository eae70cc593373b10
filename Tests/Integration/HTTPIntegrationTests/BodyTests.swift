import HTTPServer
import Testing

@Suite struct BodyTests {
    private func withEcho(limit: Int = 1000, _ body: (HTTPServer) async throws -> Void) async throws {
        try await withServer(
            { $0.bodyBytes = limit },
            routes: { router in
                router.post("/echo") { HTTPResponse(body: $0.body) }
                router.post("/large", bodyLimit: 4 << 20) { .text("\($0.body.count)") }
            }
        ) { server in try await body(server) }
    }

    @Test func `bodies come with a length or in chunks`() async throws {
        try await withEcho { server in
            let client = try RawClient(port: server.port)
            let chunked = "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
            #expect(try await client.exchange(chunked + "3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\n\r\n").text == "abcdefg")
            #expect(
                try await client.exchange("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nxyz").text
                    == "xyz")
            #expect(try await client.exchange("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n").text == "")
        }
    }

    @Test func `a body above the limit is a 413 before it is sent`() async throws {
        try await withEcho { server in
            let client = try RawClient(port: server.port)
            let response = try await client.exchange(
                "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\nExpect: 100-continue\r\n\r\n")
            #expect(response.status == 413)
            #expect(response.text.contains("RequestEntityTooLarge"))
            #expect(try await client.sawEnd())
            let huge = try await request(server.port, "POST /echo", headers: ["Content-Length: 99999999999999999999"])
            #expect(huge.status == 413 || huge.status == 400)
        }
    }

    @Test func `a chunked body above the limit is a 413`() async throws {
        try await withEcho { server in
            let client = try RawClient(port: server.port)
            try await client.send("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
            for _ in 0..<3 { try await client.send("190\r\n" + String(repeating: "x", count: 400) + "\r\n") }
            try await client.send("0\r\n\r\n")
            #expect(try await client.response().status == 413)
        }
    }

    @Test(arguments: [3000, 3_000_000])
    func `a client that sends all of a refused body gets the answer`(count: Int) async throws {
        try await withEcho { server in
            let text = String(repeating: "x", count: count)
            let bodies = [
                "Content-Length: \(count)\r\n\r\n" + text,
                "Transfer-Encoding: chunked\r\n\r\n\(String(count, radix: 16))\r\n\(text)\r\n0\r\n\r\n",
            ]
            for body in bodies + bodies + bodies {
                let client = try RawClient(port: server.port)
                try await client.send("POST /echo HTTP/1.1\r\nHost: a\r\n" + body)
                let answer = try await client.response()
                #expect(answer.status == 413 && answer.text.contains("RequestEntityTooLarge"))
                #expect(try await client.sawEnd())
            }
        }
    }

    @Test func `a client that stops sending a refused body is disconnected`() async throws {
        try await withEcho { server in
            let client = try RawClient(port: server.port)
            let answer = try await client.exchange("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\nxyz")
            #expect(answer.status == 413)
            #expect(try await client.sawEnd())
            // Longer than the five seconds for which the server waits for more of the body. To look earlier means to send, which begins
            // the wait anew.
            try await Task.sleep(for: .seconds(7))
            try await eventually("its connection is gone") {
                do { try await client.send("x") } catch { return true }
                return false
            }
        }
    }

    @Test func `bodies share a budget, an address has its share, and a body's end releases it`() async throws {
        try await withServer(
            { $0.bodiesBytes = 1 << 20 },
            routes: { $0.post("/large", bodyLimit: 4 << 20) { .text("\($0.body.count)") } }
        ) { server in
            let half = 400 << 10
            let head = "POST /large HTTP/1.1\r\nHost: a\r\nContent-Length: \(half)\r\n\r\n"
            let text = String(repeating: "x", count: half)
            let slow = try RawClient(port: server.port)
            try await slow.send(head + text.dropLast(1))
            // The budget counts what has arrived; the first body must be in before the other connection's is sent.
            var refused = try await RawClient(port: server.port).exchange(head + text)
            for _ in 0..<100 where refused.status == 200 {
                refused = try await RawClient(port: server.port).exchange(head + text)
            }
            #expect(refused.status == 429 && refused.text.contains("TooManyRequests"), "\(refused.text)")
            #expect(refused.headers["retry-after"] == "1")
            // A small body needs no budget.
            let small = "POST /large HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
            #expect(try await RawClient(port: server.port).exchange(small).text == "3")
            try await slow.send("x")
            #expect(try await slow.response().text == "\(half)")
            for _ in 0..<5 {
                #expect(try await RawClient(port: server.port).exchange(head + text).text == "\(half)")
            }
        }
    }

    @Test func `responses share a budget while they are sent`() async throws {
        let body = [UInt8](repeating: 120, count: 24 << 20)
        try await withServer(
            { $0.answersBytes = 40 << 20 },
            routes: { router in
                router.get("/large") { _ in HTTPResponse(body: body) }
                router.get("/small") { _ in .text("small") }
            }
        ) { server in
            // Nothing is read at first, and the kernel's buffers don't hold it all.
            let slow = try RawClient(port: server.port, receiveBuffer: 128 << 10)
            try await slow.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
            try await eventually("another response has no room") {
                let other = try await request(server.port, "GET /large")
                return other.status == 429 && other.text.contains("TooManyRequests")
                    && other.headers["retry-after"] == "1"
            }
            #expect(try await request(server.port, "GET /small").text == "small")
            let head = try await request(server.port, "HEAD /large")
            #expect(head.status == 200 && head.headers["content-length"] == "\(body.count)")
            #expect(try await slow.response().body == body)
            for _ in 0..<3 { #expect(try await request(server.port, "GET /large").status == 200) }
            let gone = try RawClient(port: server.port, receiveBuffer: 4096)
            try await gone.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
            await gone.close()
            try await eventually("there is room again") { try await request(server.port, "GET /large").status == 200 }
        }
    }

    @Test func `a client that takes its response too slowly is disconnected`() async throws {
        let body = [UInt8](repeating: 120, count: 24 << 20)
        try await withServer(
            {
                $0.sendTimeout = .milliseconds(500)
                $0.idleTimeout = .seconds(1000)
            }, routes: { $0.get("/large") { _ in HTTPResponse(body: body) } }
        ) { server in
            let client = try RawClient(port: server.port, receiveBuffer: 4096)
            try await client.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
            try await eventually("its connection is gone") {
                do { try await client.send("x") } catch { return true }
                return false
            }
            #expect(try await client.takeAll().count < body.count)
        }
    }

    @Test func `an endless body doesn't hold the connection`() async throws {
        try await withEcho { server in
            let client = try RawClient(port: server.port)
            try await client.send("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
            let chunk = "10000\r\n" + String(repeating: "x", count: 65536) + "\r\n"
            await #expect(throws: RawClientError.self) {
                for _ in 0..<1000 { try await client.send(chunk) }
            }
        }
    }

    @Test func `a route has a limit of its own`() async throws {
        try await withEcho { server in
            let body = String(repeating: "x", count: 3 << 20)
            let response = try await request(server.port, "POST /large", body: body)
            #expect(response.text == "\(3 << 20)")
        }
    }

    @Test func `a client that expects 100 Continue gets it, unless the body isn't wanted`() async throws {
        try await withEcho { server in
            let client = try RawClient(port: server.port)
            let head = "HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n"
            try await client.send("POST /echo " + head)
            #expect(String(decoding: try await client.take(25), as: UTF8.self) == "HTTP/1.1 100 Continue\r\n\r\n")
            #expect(try await client.exchange("abc").text == "abc")
            #expect(try await client.exchange("POST /nobody " + head).status == 404)
        }
    }

    @Test func `a streamed body comes in pieces`() async throws {
        let gate = Gate()
        try await withServer(routes: { router in
            router.get("/events") { _ in
                HTTPResponse(
                    headers: ["Content-Type": "text/event-stream"],
                    stream: HTTPBodyStream { writer in
                        try await writer.write("data: 1\n\n")
                        await gate.wait()
                        try await writer.write("data: 2\n\n")
                    })
            }
            router.get("/sized") { _ in
                HTTPResponse(stream: HTTPBodyStream(length: 10) { try await $0.write("0123456789") })
            }
            router.get("/broken") { _ in
                HTTPResponse(
                    stream: HTTPBodyStream { writer in
                        try await writer.write("begin")
                        throw HTTPError(500, code: "Never", "seen")
                    })
            }
        }) { server in
            let client = try RawClient(port: server.port)
            try await client.send("GET /events HTTP/1.1\r\nHost: a\r\n\r\n")
            let head = "HTTP/1.1 200 OK"
            #expect(String(decoding: try await client.take(head.count), as: UTF8.self) == head)
            var seen = ""
            while !seen.contains("data: 1") { seen += String(decoding: try await client.take(1), as: UTF8.self) }
            gate.open()
            while !seen.contains("data: 2\n\n\r\n0\r\n\r\n") {
                seen += String(decoding: try await client.take(1), as: UTF8.self)
            }
            let sized = try await client.exchange("GET /sized HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(sized.headers["content-length"] == "10")
            #expect(sized.text == "0123456789")
            #expect(try await client.exchange("HEAD /events HTTP/1.1\r\nHost: a\r\n\r\n", isHead: true).status == 200)
            await #expect(throws: RawClientError.self) {
                try await client.exchange("GET /broken HTTP/1.1\r\nHost: a\r\n\r\n")
            }
        }
    }

    @Test func `a slow client slows the producer down, one that disconnects stops it`() async throws {
        let written = Box(0), ended = Gate()
        try await withServer(routes: { router in
            router.get("/endless") { _ in
                HTTPResponse(
                    stream: HTTPBodyStream { writer in
                        defer { ended.open() }
                        let piece = [UInt8](repeating: 120, count: 64 << 10)
                        while true {
                            try await writer.write(piece)
                            written.update { $0 += piece.count }
                        }
                    })
            }
        }) { server in
            let client = try RawClient(port: server.port, receiveBuffer: 4096)
            try await client.send("GET /endless HTTP/1.1\r\nHost: a\r\n\r\n")
            var last = -1
            // The producer stops once the window and the kernel's buffers are full.
            try await eventually("the producer waits") {
                let now = written.value
                defer { last = now }
                try await Task.sleep(for: .milliseconds(100))
                return now > 0 && now == last
            }
            #expect(written.value < 16 << 20)
            await client.close()
            await ended.wait()
        }
    }
}
