import EventLoop
import HTTPServer
import Testing
import WebSocket

@Suite struct WebSocketTLSTests {
    private func withProxy(_ body: (TLSProxy) async throws -> Void) async throws {
        try await withServer(routes: { router in
            router.webSocket("/talk") { _ in
                .webSocket { socket in
                    socket.send(text: "welcome")
                    socket.onMessage = { [unowned socket] opcode, bytes in socket.send(WebSocketFrame(opcode, bytes)) }
                }
            }
        }) { server in
            try await TLSProxy.with(server, body)
        }
    }

    private func connect(_ url: String, trusting file: String?, _ log: SocketLog) async throws -> WebSocket {
        try await WebSocketClient.connect(
            url, configuration: WebSocketConfiguration(), certificateAuthorityFile: file,
            timeout: patience, on: testLoops.next()
        ) { log.attach($0) }
    }

    @Test func `a client talks over TLS`() async throws {
        try await withProxy { proxy in
            let log = SocketLog()
            let socket = try await connect("wss://localhost:\(proxy.port)/talk", trusting: proxy.certificate, log)
            // More than a TLS record, and than all buffers on the path hold.
            let texts = ["", "short"] + (1...12).map { String(repeating: "0123456789\($0)", count: $0 * 6000) }
            socket.onLoop { socket in for text in texts { socket.send(text: text) } }
            try await eventually("all come back") { log.messages.count == texts.count + 1 }
            #expect(log.texts == ["welcome"] + texts)
            socket.onLoop { $0.close(.normal, reason: "done") }
            try await eventually("the server answers") { log.closure != nil }
            #expect(log.closure == WebSocketClosure(.normal, isByPeer: true))
        }
    }

    @Test func `a paused client goes on where it was`() async throws {
        try await withProxy { proxy in
            let log = SocketLog()
            let socket = try await connect("wss://localhost:\(proxy.port)/talk", trusting: proxy.certificate, log)
            try await eventually("the server greets") { log.messages.count == 1 }
            let text = String(repeating: "x", count: 50_000)
            socket.onLoop { socket in
                socket.pauseReading()
                for _ in 1...20 { socket.send(text: text) }
            }
            socket.onLoop { $0.resumeReading() }
            try await eventually("all come back") { log.messages.count == 21 }
            socket.onLoop { $0.terminate() }
        }
    }

    @Test func `an untrusted server, or one with another name, is refused`() async throws {
        try await withProxy { proxy in
            let log = SocketLog()
            for (url, file) in [
                ("wss://localhost:\(proxy.port)/talk", nil), ("wss://127.0.0.1:\(proxy.port)/talk", proxy.certificate),
                ("wss://localhost:\(proxy.port)/talk", "/nonexistent"),
            ] {
                let error = await #expect(throws: WebSocketError.self) { try await connect(url, trusting: file, log) }
                #expect(error?.code == .untrusted, "\(url): \(error?.message ?? "")")
            }
            #expect(log.messages.isEmpty)
        }
    }

    @Test func `a server without TLS is an error`() async throws {
        try await withServer(routes: { _ in }) { server in
            let error = await #expect(throws: WebSocketError.self) {
                try await connect("wss://localhost:\(server.port)/talk", trusting: nil, SocketLog())
            }
            #expect(error?.code == .cannotConnect, "\(error?.message ?? "")")
        }
    }
}
