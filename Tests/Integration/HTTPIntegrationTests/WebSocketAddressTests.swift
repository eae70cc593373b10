import EventLoop
import HTTPServer
import Testing
import WebSocket

/// A client of a host with several addresses.
@Suite struct WebSocketAddressTests {
    private func address(_ port: Int) async throws -> [SocketAddress] {
        try await SocketAddresses.resolve("127.0.0.1", port: UInt16(port), timeout: patience)
    }

    private func greet(_ router: inout HTTPRouter) {
        router.webSocket("/talk") { _ in .webSocket { $0.send(text: "welcome") } }
    }

    @Test func `an address that doesn't answer leaves time for the next one`() async throws {
        let silent = try SilentPort()
        defer { silent.close() }
        try await withServer(routes: greet) { server in
            let addresses = try await address(silent.port) + address(server.port)
            let log = SocketLog()
            let socket = try await WebSocketClient.connect(
                "ws://several.test/talk", to: addresses, timeout: patience, on: testLoops.next()
            ) { log.attach($0) }
            try await eventually("the server greets") { log.texts == ["welcome"] }
            socket.onLoop { $0.terminate() }
        }
    }

    @Test func `addresses that don't answer end with the time`() async throws {
        let silent = try SilentPort()
        defer { silent.close() }
        let addresses = try await address(silent.port) + address(silent.port) + address(silent.port)
        let error = await #expect(throws: WebSocketError.self) {
            try await WebSocketClient.connect(
                "ws://several.test/talk", to: addresses, timeout: .milliseconds(800), on: testLoops.next()
            ) { _ in }
        }
        #expect(error?.code == .timedOut)
    }

    @Test func `an address where TLS fails isn't the last one, and its error is the one that counts`() async throws {
        try await withServer(routes: greet) { server in
            try await TLSProxy.with(server) { proxy in
                let log = SocketLog()
                let addresses = try await address(server.port) + address(proxy.port)
                let socket = try await WebSocketClient.connect(
                    "wss://localhost/talk", to: addresses, certificateAuthorityFile: proxy.certificate,
                    timeout: patience, on: testLoops.next()
                ) { log.attach($0) }
                try await eventually("the server greets") { log.texts == ["welcome"] }
                socket.onLoop { $0.terminate() }

                let listener = try ScriptedServer()
                let unused = listener.port
                listener.close()
                let others = try await address(proxy.port) + address(unused)
                let error = await #expect(throws: WebSocketError.self) {
                    try await WebSocketClient.connect(
                        "wss://localhost/talk", to: others, timeout: patience, on: testLoops.next()
                    ) { _ in }
                }
                #expect(error?.code == .untrusted, "\(error?.message ?? "")")
            }
        }
    }
}
