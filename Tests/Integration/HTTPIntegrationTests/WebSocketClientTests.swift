import EventLoop
import HTTPServer
import Testing
import WebSocket

@Suite struct WebSocketClientTests {
    private func url(_ server: HTTPServer, _ path: String) -> String { "ws://127.0.0.1:\(server.port)\(path)" }

    @Test(arguments: [true, false]) func `client and server talk, compressed or not`(_ isCompressed: Bool) async throws
    {
        let log = SocketLog()
        try await withServer(routes: { router in
            router.webSocket("/talk/:name") { request in
                let name = request.parameters["name"] ?? ""
                #expect(request.headers["x-token"] == "t")
                return .webSocket(subprotocol: request.webSocketSubprotocols.last) { socket in
                    socket.send(text: "welcome \(name)")
                    socket.onMessage = { [unowned socket] opcode, bytes in
                        socket.send(WebSocketFrame(opcode, bytes, isCompressible: true))
                    }
                }
            }
        }) { server in
            var configuration = WebSocketConfiguration()
            configuration.allowsCompression = isCompressed
            let socket = try await WebSocketClient.connect(
                url(server, "/talk/anna?x=1"), headers: [("X-Token", "t")],
                subprotocols: ["partita.sync.v2", "partita.sync.v1"], configuration: configuration, on: testLoops.next()
            ) { log.attach($0) }
            #expect(socket.subprotocol == "partita.sync.v1")
            #expect(socket.isCompressed == isCompressed)
            let texts = ["", "short", String(repeating: "long ", count: 2000), String(repeating: "é", count: 100_000)]
            for text in texts {
                let frame = WebSocketFrame(text: text, isCompressible: true)
                socket.onLoop { $0.send(frame) }
            }
            try await eventually("all come back") { log.messages.count == 5 }
            #expect(log.texts == ["welcome anna"] + texts)
            socket.onLoop { $0.close(.normal, reason: "done") }
            try await eventually("the server answers") { log.closure != nil }
            #expect(log.closure == WebSocketClosure(.normal, isByPeer: true))
        }
    }

    @Test func `a refusal has a status and a body`() async throws {
        try await withServer(routes: { router in
            router.webSocket("/closed") { _ in throw HTTPError(401, code: "InvalidSession", "expired") }
            router.get("/plain") { _ in .text("plain") }
        }) { server in
            let refused = await #expect(throws: WebSocketError.self) {
                try await WebSocketClient.connect(url(server, "/closed"), on: testLoops.next()) { _ in }
            }
            #expect(refused?.code == .refused)
            #expect(refused?.status == 401)
            #expect(refused.map { String(decoding: $0.body, as: UTF8.self) }?.contains("InvalidSession") == true)
            let plain = await #expect(throws: WebSocketError.self) {
                try await WebSocketClient.connect(url(server, "/plain"), on: testLoops.next()) { _ in }
            }
            #expect(plain?.status == 200)
        }
    }

    @Test func `an unreachable server is an error`() async throws {
        let listener = try ScriptedServer()
        let unused = listener.port
        listener.close()
        let refused = await #expect(throws: WebSocketError.self) {
            try await WebSocketClient.connect("ws://127.0.0.1:\(unused)/", on: testLoops.next()) { _ in }
        }
        #expect(refused?.code == .cannotConnect)
        for bad in [
            "http://a/", "wss://", "ws://", "ws://a:0/", "ws://a:70000/", "ws://u@a/", "ws://a/ b", "ws://[::1",
        ] {
            let error = await #expect(throws: WebSocketError.self) {
                try await WebSocketClient.connect(bad, on: testLoops.next()) { _ in }
            }
            #expect(error?.code == .invalidURL, "\(bad)")
        }
        let injected = await #expect(throws: WebSocketError.self) {
            try await WebSocketClient.connect("ws://127.0.0.1:1/", headers: [("A", "b\r\nC: d")], on: testLoops.next())
            { _ in }
        }
        #expect(injected?.code == .invalidURL)
        let nobody = await #expect(throws: WebSocketError.self) {
            try await WebSocketClient.connect("ws://nobody.invalid/", on: testLoops.next()) { _ in }
        }
        #expect(nobody?.code == .unresolvedHost)
    }

    @Test(arguments: [
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: wrong\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ACCEPT\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ACCEPT\r\n\r\n",
        "HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ACCEPT\r\nSec-WebSocket-Protocol: b\r\n\r\n",
        "HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ACCEPT\r\nSec-WebSocket-Extensions: x\r\n\r\n",
        "HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ACCEPT\r\n"
            + "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n",
        "HTTP/1.0 101 X\r\n\r\n", "nonsense\r\n\r\n", "HTTP/1.1 abc\r\n\r\n", "HTTP/1.1 101 X\r\nno colon\r\n\r\n",
    ]) func `an answer that breaks the handshake is refused`(_ answer: String) async throws {
        let server = try ScriptedServer()
        defer { server.close() }
        async let served: Void = server.answer { accept in Array(answer.replacing("ACCEPT", with: accept).utf8) }
        let error = await #expect(throws: WebSocketError.self) {
            try await WebSocketClient.connect(
                "ws://127.0.0.1:\(server.port)/", subprotocols: ["a"], on: testLoops.next()
            ) { _ in }
        }
        #expect(error?.code == .invalidHandshake)
        try await served
    }

    @Test func `an unresponsive server is given up, and a cancelled task returns at once`() async throws {
        let server = try ScriptedServer()
        defer { server.close() }
        let slow = await #expect(throws: WebSocketError.self) {
            try await WebSocketClient.connect(
                "ws://127.0.0.1:\(server.port)/", timeout: .milliseconds(100), on: testLoops.next()
            ) { _ in }
        }
        #expect(slow?.code == .timedOut)
        let task = Task {
            try await WebSocketClient.connect("ws://127.0.0.1:\(server.port)/", on: testLoops.next()) { _ in }
        }
        task.cancel()
        let cancelled = await #expect(throws: WebSocketError.self) { try await task.value }
        #expect(cancelled?.code == .cancelled)
    }

    @Test func `a client refuses masked frames`() async throws {
        let server = try ScriptedServer()
        defer { server.close() }
        let log = SocketLog()
        async let served: Void = server.answer { accept in
            let head =
                "HTTP/1.1 101 X\r\nUpgrade: WebSocket\r\nConnection: upgrade\r\nSec-WebSocket-Accept: \(accept)\r\n\r\n"
            return Array(head.utf8) + RawFrame.text("fine").masked(false) + RawFrame.text("wrong").masked()
        }
        _ = try await WebSocketClient.connect("ws://127.0.0.1:\(server.port)/", on: testLoops.next()) { log.attach($0) }
        try await served
        try await eventually("it ends") { log.closure != nil }
        #expect(log.texts == ["fine"])
        #expect(log.closure?.code == .protocolError)
    }
}
