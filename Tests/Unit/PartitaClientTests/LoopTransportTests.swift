#if os(Linux)
    import EventLoop
    import HTTPServer
    import Logging
    import PartitaClient
    import Testing
    import WebSocket

    /// The client's transports on Linux, against our own server over the loopback.
    struct LoopTransportTests {
        private static let loops = LoopGroup(2, name: "client-test")

        private func withServer(
            _ routes: (inout HTTPRouter) -> Void, _ body: (HTTPServer) async throws -> Void
        ) async throws {
            var router = HTTPRouter()
            routes(&router)
            let server = HTTPServer(
                HTTPServerConfiguration(address: "127.0.0.1", port: 0), router: router, loops: [Self.loops.next()],
                logger: Logger(label: "test", handler: InMemoryLogHandler()))
            try await server.start()
            do {
                try await body(server)
            } catch {
                await server.stop(drainingFor: .zero)
                throw error
            }
            await server.stop(drainingFor: .zero)
        }

        private func connect(_ server: HTTPServer, _ path: String) async throws -> any SyncConnection {
            try await LoopSyncTransport(loop: Self.loops.next())
                .connect("ws://127.0.0.1:\(server.port)\(path)", subprotocol: "partita.sync.v1")
        }

        @Test func `frames go both ways, in order, and the end is reported`() async throws {
            try await withServer { router in
                router.webSocket("/echo") { request in
                    .webSocket(subprotocol: request.webSocketSubprotocols.first) { socket in
                        socket.onMessage = { [unowned socket] opcode, bytes in
                            if bytes.isEmpty { return socket.close(.goingAway) }
                            socket.send(WebSocketFrame(opcode, bytes))
                        }
                    }
                }
            } _: { server in
                let connection = try await connect(server, "/echo")
                for number in 0..<500 { connection.send(Array("frame \(number)".utf8)) }
                connection.send([])
                for number in 0..<500 {
                    let frame = await connection.receive()
                    #expect(frame.map { String(decoding: $0, as: UTF8.self) } == "frame \(number)")
                }
                #expect(await connection.receive() == nil)
                connection.send(Array("into the void".utf8))
                #expect(await connection.receive() == nil)
            }
        }

        @Test func `a flood waits in TCP and arrives whole`() async throws {
            let count = 200
            try await withServer { router in
                router.webSocket("/flood") { request in
                    .webSocket(subprotocol: request.webSocketSubprotocols.first) { socket in
                        let frame = WebSocketFrame(.text, Array(repeating: UInt8(ascii: "x"), count: 50_000))
                        for _ in 0..<count { socket.send(frame) }
                    }
                }
            } _: { server in
                let connection = try await connect(server, "/flood")
                for _ in 0..<count { #expect(await connection.receive()?.count == 50_000) }
                connection.close()
                #expect(await connection.receive() == nil)
            }
        }

        @Test func `closing ends a wait`() async throws {
            try await withServer { router in
                router.webSocket("/silent") { request in
                    .webSocket(subprotocol: request.webSocketSubprotocols.first) { _ in }
                }
            } _: { server in
                let connection = try await connect(server, "/silent")
                async let frame = connection.receive()
                connection.close()
                #expect(await frame == nil)
            }
        }

        @Test func `a gateway that doesn't speak the protocol is refused`() async throws {
            try await withServer { router in
                router.webSocket("/other") { _ in .webSocket { _ in } }
            } _: { server in
                await #expect(throws: (any Error).self) { try await connect(server, "/other") }
                await #expect(throws: (any Error).self) { try await connect(server, "/nowhere") }
            }
        }

        @Test func `calls carry method, headers and body, and any status is an answer`() async throws {
            try await withServer { router in
                router.post("/call") { request in
                    let body = request.body
                    return .text("\(request.headers["authorization"] ?? "") \(String(decoding: body, as: UTF8.self))")
                }
            } _: { server in
                let transport = LoopHTTPTransport(loop: Self.loops.next())
                let base = "http://127.0.0.1:\(server.port)"
                let answer = try await transport.send(
                    HTTPCall(
                        method: "POST", url: "\(base)/call", headers: [("Authorization", "Bearer t")],
                        body: Array("hello".utf8)))
                #expect(String(decoding: answer.body, as: UTF8.self) == "Bearer t hello")
                #expect(try await transport.send(HTTPCall(method: "DELETE", url: "\(base)/nowhere")).status == 404)
            }
        }
    }
#endif
