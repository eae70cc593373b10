import HTTPServer
import Testing
import WebSocket

@Suite struct WebSocketUpgradeTests {
    private func withGateway(
        _ configure: (inout HTTPServerConfiguration) -> Void = { _ in }, _ body: (HTTPServer) async throws -> Void
    ) async throws {
        try await withServer(
            configure,
            routes: { router in
                router.webSocket("/app/:app/sync") { request in
                    try await Task.sleep(for: .milliseconds(1))
                    guard request.headers["authorization"] == "Bearer good" else {
                        throw HTTPError(401, code: "InvalidSession", "token expired")
                    }
                    guard request.webSocketSubprotocols.contains("partita.sync.v1") else {
                        throw HTTPError(426, code: "UpgradeRequired", "speak partita.sync.v1")
                    }
                    let app = request.parameters["app"] ?? ""
                    return .webSocket(subprotocol: "partita.sync.v1", headers: ["X-App": app]) { socket in
                        socket.send(text: "hello \(app)")
                        socket.onMessage = { [unowned socket] opcode, bytes in
                            socket.send(WebSocketFrame(opcode, bytes))
                        }
                    }
                }
                router.webSocket("/wrong") { _ in .webSocket(subprotocol: "never.offered") { _ in } }
                router.echo("/echo")
            }
        ) { server in try await body(server) }
    }

    private static let good = ["Authorization: Bearer good", "Sec-WebSocket-Protocol: other, partita.sync.v1"]

    @Test func `the handler decides, and a refusal is JSON on a connection that stays open`() async throws {
        try await withGateway { server in
            let client = try RawClient(port: server.port)
            let unauthorized = try await client.upgrade("/app/rchat/sync", headers: ["Authorization: Bearer bad"])
            #expect(unauthorized.status == 401)
            #expect(unauthorized.headers["content-type"] == "application/json")
            #expect(unauthorized.text == #"{"error":"token expired","error_code":"InvalidSession"}"#)
            let old = try await client.upgrade("/app/rchat/sync", headers: ["Authorization: Bearer good"])
            #expect(old.status == 426)
            let accepted = try await client.upgrade("/app/rchat/sync", headers: Self.good)
            #expect(accepted.status == 101)
            #expect(accepted.headers["sec-websocket-accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
            #expect(accepted.headers["sec-websocket-protocol"] == "partita.sync.v1")
            #expect(accepted.headers["sec-websocket-extensions"] == nil)
            #expect(accepted.headers["x-app"] == "rchat")
            #expect(try await client.frame() == .text("hello rchat"))
        }
    }

    @Test func `a socket opens with its 101, without waiting for another event`() async throws {
        try await withGateway { server in
            var times: [Duration] = []
            for _ in 0..<10 {
                let start = ContinuousClock.now
                let client = try RawClient(port: server.port)
                #expect(try await client.upgrade("/app/a/sync", headers: Self.good).status == 101)
                #expect(try await client.frame() == .text("hello a"))
                times.append(ContinuousClock.now - start)
            }
            // libmicrohttpd's timer runs once a second: waiting for it would take a second each time but the first.
            #expect(times.dropFirst().contains { $0 < .milliseconds(500) }, "\(times)")
        }
    }

    @Test func `bytes that come with the request are the first messages`() async throws {
        try await withGateway { server in
            let client = try RawClient(port: server.port)
            let early = RawFrame.text("one").masked() + RawFrame.text("two").masked().dropLast(1)
            #expect(try await client.upgrade("/app/a/sync", headers: Self.good, early: early).status == 101)
            #expect(try await client.frame() == .text("hello a"))
            #expect(try await client.frame() == .text("one"))
            try await client.send(Array(RawFrame.text("two").masked().suffix(1)))
            #expect(try await client.frame() == .text("two"))
        }
    }

    @Test func `a request that isn't a handshake is refused`() async throws {
        try await withGateway { server in
            let plain = try await request(server.port, "GET /echo")
            #expect(plain.status == 426)
            #expect(plain.headers["upgrade"] == "websocket")
            let upgrade = ["Upgrade: websocket", "Connection: Upgrade"]
            let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
            let version = "Sec-WebSocket-Version: 13"
            #expect(try await request(server.port, "GET /echo", headers: upgrade + [version]).status == 400)
            for bad in ["x", "dGhlIHNhbXBsZSBub25jZQ=", "dGhlIHNhbXBsZSBub25jZQ\"=="] {
                let headers = upgrade + [version, "Sec-WebSocket-Key: \(bad)"]
                #expect(try await request(server.port, "GET /echo", headers: headers).status == 400)
            }
            let old = try await request(server.port, "GET /echo", headers: upgrade + [key, "Sec-WebSocket-Version: 8"])
            #expect(old.status == 426)
            #expect(old.headers["sec-websocket-version"] == "13")
            #expect(try await request(server.port, "HEAD /echo", headers: upgrade + [key, version]).status == 400)
            #expect(try await request(server.port, "POST /echo", headers: upgrade + [key, version]).status == 405)
            let wrong = try await request(server.port, "GET /wrong", headers: upgrade + [key, version])
            #expect(wrong.status == 500)
        }
    }

    @Test func `permessage-deflate is agreed on without context takeover`() async throws {
        try await withGateway { server in
            let answer = "permessage-deflate; server_no_context_takeover; client_no_context_takeover"
            let cases: [(offer: String, answer: String?)] = [
                ("permessage-deflate", answer),
                ("permessage-deflate; client_max_window_bits", answer),
                ("permessage-deflate; client_max_window_bits=10; server_max_window_bits=15", answer),
                ("permessage-deflate; server_max_window_bits=10", nil),
                ("permessage-deflate; server_max_window_bits=10, permessage-deflate", answer),
                ("permessage-deflate; unknown", nil),
                ("permessage-deflate; client_max_window_bits=99", nil),
                ("permessage-deflate; server_no_context_takeover; server_no_context_takeover", nil),
                ("x-webkit-deflate-frame", nil),
            ]
            for (offer, expected) in cases {
                let client = try RawClient(port: server.port)
                let response = try await client.upgrade("/echo", headers: ["Sec-WebSocket-Extensions: \(offer)"])
                #expect(response.status == 101)
                #expect(response.headers["sec-websocket-extensions"] == expected, "\(offer)")
            }
        }
    }

    @Test func `the number of sockets is limited`() async throws {
        try await withGateway({ $0.webSockets = 2 }) { server in
            let first = try RawClient(port: server.port), second = try RawClient(port: server.port)
            #expect(try await first.upgrade("/echo").status == 101)
            #expect(try await second.upgrade("/echo").status == 101)
            #expect(try await RawClient(port: server.port).upgrade("/echo").status == 503)
            await first.close()
            try await eventually("a place is free") {
                try await RawClient(port: server.port).upgrade("/echo").status == 101
            }
        }
    }

    @Test func `a server that drains closes its sockets`() async throws {
        let log = SocketLog()
        try await withServer(routes: { $0.echo("/echo", log: log) }) { server in
            let client = try RawClient(port: server.port)
            #expect(try await client.upgrade("/echo").status == 101)
            async let stopped: Void = server.stop(drainingFor: .seconds(5))
            let farewell = try await client.frame()
            #expect(farewell.opcode == 8)
            #expect(farewell.closeCode == 1001)
            try await client.send(.close(1001))
            #expect(try await client.sawEnd())
            await client.close()
            await stopped
            #expect(log.closure == WebSocketClosure(.goingAway, isByPeer: true))
        }
    }
}
