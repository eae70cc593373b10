import EventLoop
import HTTPServer
import Testing
import WebSocket

@Suite struct WebSocketProtocolTests {
    /// A raw client that is upgraded to an echo.
    private func withEcho(
        compressed: Bool = false, _ change: (inout WebSocketConfiguration) -> Void = { _ in },
        log: SocketLog = SocketLog(),
        _ body: (RawClient) async throws -> Void
    ) async throws {
        var configuration = WebSocketConfiguration()
        change(&configuration)
        try await withServer(routes: { [configuration] in $0.echo("/echo", configuration, log: log) }) { server in
            let client = try RawClient(port: server.port)
            let response = try await client.upgrade(
                "/echo", headers: compressed ? ["Sec-WebSocket-Extensions: permessage-deflate"] : [])
            #expect(response.status == 101)
            try await body(client)
        }
    }

    @Test func `messages of all sizes come back`() async throws {
        try await withEcho { client in
            for count in [0, 1, 125, 126, 4095, 4096, 4097, 65535, 65536, 200_000] {
                let text = String(repeating: "é", count: count / 2) + String(repeating: "x", count: count % 2)
                try await client.send(.text(text))
                #expect(try await client.frame() == .text(text), "\(count)")
            }
            try await client.send(RawFrame(first: 0x82, payload: [0, 255, 254]))
            #expect(try await client.frame() == RawFrame(first: 0x82, payload: [0, 255, 254]))
        }
    }

    @Test func `bytes may come one by one, or many frames at once`() async throws {
        try await withEcho { client in
            for byte in RawFrame.text("hello").masked() + RawFrame(first: 0x89, payload: [7]).masked() {
                try await client.send([byte])
            }
            #expect(try await client.frame() == .text("hello"))
            #expect(try await client.frame() == RawFrame(first: 0x8A, payload: [7]))
            let many = (0..<500).flatMap { RawFrame.text("\($0)").masked() }
            try await client.send(many)
            for number in 0..<500 { #expect(try await client.frame() == .text("\(number)")) }
        }
    }

    @Test func `fragments are put together, with pings between`() async throws {
        try await withEcho { client in
            let euro = Array("€".utf8)
            try await client.send(RawFrame(first: 0x01, payload: [euro[0]]))
            try await client.send(RawFrame(first: 0x89, payload: [1, 2, 3]))
            try await client.send(RawFrame(first: 0x00, payload: [euro[1]]))
            try await client.send(RawFrame(first: 0x00, payload: []))
            try await client.send(RawFrame(first: 0x80, payload: [euro[2], 33]))
            #expect(try await client.frame() == RawFrame(first: 0x8A, payload: [1, 2, 3]))
            #expect(try await client.frame() == .text("€!"))
            try await client.send(RawFrame(first: 0x02, payload: []))
            try await client.send(RawFrame(first: 0x80, payload: []))
            #expect(try await client.frame() == RawFrame(first: 0x82, payload: []))
        }
    }

    @Test func `five pings get five pongs, and an unsolicited pong is ignored`() async throws {
        try await withEcho { client in
            try await client.send(RawFrame(first: 0x8A, payload: [9]))
            for number in 0..<5 {
                try await client.send(RawFrame(first: 0x89, payload: [UInt8](repeating: UInt8(number), count: 125)))
            }
            for number in 0..<5 {
                #expect(
                    try await client.frame()
                        == RawFrame(first: 0x8A, payload: [UInt8](repeating: UInt8(number), count: 125)))
            }
        }
    }

    struct Violation: Sendable, CustomTestStringConvertible {
        let name: String
        let bytes: [UInt8]
        let code: Int
        var compressed = false
        var testDescription: String { name }

        init(_ name: String, _ code: Int, compressed: Bool = false, _ frames: RawFrame...) {
            self.init(name, code, compressed: compressed, bytes: frames.flatMap { $0.masked() })
        }
        init(_ name: String, _ code: Int, compressed: Bool = false, bytes: [UInt8]) {
            (self.name, self.code, self.compressed, self.bytes) = (name, code, compressed, bytes)
        }
    }

    private static func frame(_ first: UInt8, _ payload: [UInt8] = []) -> RawFrame {
        RawFrame(first: first, payload: payload)
    }

    static let violations = [
        Violation("unmasked frame", 1002, bytes: RawFrame.text("a").masked(false)),
        Violation("unmasked ping", 1002, bytes: frame(0x89).masked(false)),
        Violation("RSV1 that wasn't agreed on", 1002, frame(0xC1, [97])),
        Violation("RSV2", 1002, frame(0xA1, [97])),
        Violation("RSV3", 1002, frame(0x91, [97])),
        Violation("RSV1 on a ping", 1002, compressed: true, frame(0xC9, [])),
        Violation("RSV1 on a continuation", 1002, compressed: true, frame(0x41, [0]), frame(0xC0, [0])),
        Violation("reserved opcode 3", 1002, frame(0x83)),
        Violation("reserved opcode 7", 1002, frame(0x87, [1])),
        Violation("reserved opcode 11", 1002, frame(0x8B)),
        Violation("fragmented ping", 1002, frame(0x09)),
        Violation("ping of 126 bytes", 1002, frame(0x89, [UInt8](repeating: 0, count: 126))),
        Violation("fragmented close", 1002, frame(0x08, [3, 232])),
        Violation("close of 126 bytes", 1002, frame(0x88, [3, 232] + [UInt8](repeating: 97, count: 124))),
        Violation("close of one byte", 1002, frame(0x88, [3])),
        Violation("continuation without a start", 1002, frame(0x80, [97])),
        Violation("continuation after a whole message", 1002, frame(0x81, [97]), frame(0x80, [97])),
        Violation("a message inside a message", 1002, frame(0x01, [97]), frame(0x81, [97])),
        Violation("length not in its shortest form", 1002, bytes: [0x82, 0xFE, 0, 5]),
        Violation("long length not in its shortest form", 1002, bytes: [0x82, 0xFF, 0, 0, 0, 0, 0, 0, 255, 255]),
        Violation("length above 63 bits", 1002, bytes: [0x82, 0xFF, 0x80, 0, 0, 0, 0, 0, 0, 0]),
        Violation("text that isn't UTF-8", 1007, frame(0x81, [0xFF])),
        Violation("surrogate", 1007, frame(0x81, [0xED, 0xA0, 0x80])),
        Violation("overlong form", 1007, frame(0x81, [0xC0, 0xAF])),
        Violation("above U+10FFFF", 1007, frame(0x81, [0xF4, 0x90, 0x80, 0x80])),
        Violation("text that is cut off", 1007, frame(0x81, [0xE2, 0x82])),
        Violation("wrong in a later fragment", 1007, frame(0x01, [97]), frame(0x00, [0xE2]), frame(0x00, [0x28])),
        Violation("close reason that isn't UTF-8", 1007, frame(0x88, [3, 232, 0xFF])),
        Violation("too big at once", 1009, frame(0x82, [UInt8](repeating: 0, count: 1001))),
        Violation("too big by its header", 1009, bytes: [0x82, 0xFF, 0, 0, 0, 1, 0, 0, 0, 0, 1, 2, 3, 4, 5]),
        Violation(
            "too big in fragments", 1009, frame(0x02, [UInt8](repeating: 0, count: 600)),
            frame(0x80, [UInt8](repeating: 0, count: 600))),
        Violation("not deflate", 1007, compressed: true, frame(0xC1, [0xFF, 0xFF, 0xFF])),
        Violation("deflate that is cut off", 1007, compressed: true, frame(0xC2, [0xCA, 0x48])),
        // "abc" with 0xFF behind it, and 100,000 zeros, as raw deflate.
        Violation("deflated text that isn't UTF-8", 1007, compressed: true, frame(0xC1, [0xFA, 0x0F, 0x00])),
        Violation(
            "inflates too far", 1009, compressed: true,
            frame(0xC2, [0xEC, 0xC1, 0x01, 0x0D, 0x00, 0x00, 0x00, 0xC2, 0xA0, 0xF7, 0x4F, 0x6D, 0x0E, 0x37, 0xA0])),
    ]

    @Test func `data in flight on all sockets has a budget, and a sender a share of it`() async throws {
        let budget = InflightBudget(limit: 1_600_000)
        let routes: @Sendable (inout HTTPRouter) -> Void = { router in
            router.webSocket("/large/:sender") { request in
                let sender = UInt64(request.parameters["sender"] ?? "") ?? 0
                return .webSocket(configuration: WebSocketConfiguration()) { socket in
                    socket.allow(messagesOf: 4 << 20, from: budget, of: sender)
                    socket.onMessage = { [unowned socket] _, bytes in socket.send(text: "\(bytes.count)") }
                }
            }
        }
        try await withServer(routes: routes) { server in
            func client(_ sender: Int) async throws -> RawClient {
                let client = try RawClient(port: server.port)
                #expect(try await client.upgrade("/large/\(sender)").status == 101)
                return client
            }
            let whole = Self.frame(0x82, [UInt8](repeating: 7, count: 500_000)).masked()
            let unfinished = try await client(1)
            try await unfinished.send(Array(whole.prefix(450_000)))
            let small = try await client(1)
            try await small.send(Self.frame(0x82, [1, 2, 3]))
            #expect(try await small.frame() == .text("3"))
            let greedy = try await client(1)
            try await greedy.send(whole)
            #expect(try await greedy.frame().closeCode == 1013)
            let other = try await client(2)
            try await other.send(Array(whole.prefix(200_000)))
            try await other.send(Array(whole.dropFirst(200_000)))
            #expect(try await other.frame() == .text("500000"))
            try await unfinished.send(Array(whole.dropFirst(450_000)))
            #expect(try await unfinished.frame() == .text("500000"))
            // Neither completed nor failed messages take budget any more.
            for _ in 0..<5 {
                try await unfinished.send(whole)
                #expect(try await unfinished.frame() == .text("500000"))
            }
            for _ in 0..<5 { try? await client(3).send(Array(whole.prefix(400_000))) }  // refused beyond its share
            try await eventually("what was left behind is given back") {
                let later = try await client(4)
                try? await later.send(whole)
                return (try? await later.frame()) == .text("500000")
            }
        }
    }

    @Test(arguments: violations) func `a violation ends the socket with its code`(_ violation: Violation) async throws {
        let log = SocketLog()
        try await withEcho(compressed: violation.compressed, { $0.maxMessageBytes = 1000 }, log: log) { client in
            try await client.send(violation.bytes)
            var frame = try await client.frame()
            if frame.opcode == 1 { frame = try await client.frame() }
            #expect(frame.opcode == 8)
            #expect(frame.closeCode == violation.code)
            #expect(try await client.sawEnd())
            try await eventually("the owner hears of it") { log.closure != nil }
            #expect(Int(log.closure?.code.rawValue ?? 0) == violation.code)
            #expect(log.closure?.isByPeer == false)
        }
    }

    @Test(arguments: [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 4999])
    func `a close code is echoed`(_ code: UInt16) async throws {
        let log = SocketLog()
        try await withEcho(log: log) { client in
            try await client.send(RawFrame(first: 0x88, payload: RawFrame.close(code).payload + Array("bye é".utf8)))
            #expect(try await client.frame().closeCode == Int(code))
            #expect(try await client.sawEnd())
            try await eventually("the owner hears of it") { log.closure != nil }
            #expect(log.closure == WebSocketClosure(WebSocketCloseCode(rawValue: code), "bye é", isByPeer: true))
        }
    }

    @Test(arguments: [0, 999, 1004, 1005, 1006, 1015, 1016, 2000, 2999, 5000, 65535])
    func `a close code that may not be sent is a violation`(_ code: UInt16) async throws {
        try await withEcho { client in
            try await client.send(.close(code))
            #expect(try await client.frame().closeCode == 1002)
            #expect(try await client.sawEnd())
        }
    }

    @Test func `a close without a code is answered without one, and nothing after it counts`() async throws {
        let log = SocketLog()
        try await withEcho(log: log) { client in
            try await client.send(RawFrame(first: 0x88, payload: []).masked() + RawFrame.text("late").masked())
            #expect(try await client.frame() == RawFrame(first: 0x88, payload: []))
            #expect(try await client.sawEnd())
            try await eventually("the owner hears of it") { log.closure != nil }
            #expect(log.messages.isEmpty)
            #expect(log.closure == WebSocketClosure(.noStatus, isByPeer: true))
        }
    }

    @Test func `a lost connection has the code 1006`() async throws {
        let log = SocketLog()
        try await withEcho(log: log) { client in
            try await client.send(Array(RawFrame.text("cut").masked().dropLast(1)))
            await client.close()
            try await eventually("the owner hears of it") { log.closure != nil }
            #expect(log.closure?.code == .abnormal)
            #expect(log.messages.isEmpty)
        }
    }

    @Test func `a silent peer is pinged, and given up when it doesn't answer`() async throws {
        let log = SocketLog()
        // Long enough for an answer on a busy machine.
        let configure: (inout WebSocketConfiguration) -> Void = {
            $0.pingInterval = .milliseconds(100)
            $0.pongTimeout = .seconds(3)
        }
        try await withEcho(configure, log: log) { client in
            let ping = try await client.frame()
            #expect(ping.opcode == 9)
            try await client.send(RawFrame(first: 0x8A, payload: ping.payload))
            // It comes when the time for the answer is over.
            #expect(try await client.frame().opcode == 9)
            #expect(log.closure == nil)
            #expect(try await client.sawEnd())
            try await eventually("the owner hears of it") { log.closure != nil }
            #expect(log.closure == WebSocketClosure(.abnormal, "no answer to a ping"))
        }
    }

    @Test func `a peer that doesn't answer our close is given up, and so is one that never ends`() async throws {
        let log = SocketLog()
        var configuration = WebSocketConfiguration()
        configuration.closeTimeout = .milliseconds(100)
        try await withServer(routes: { [configuration] router in
            router.webSocket("/bye") { _ in
                .webSocket(configuration: configuration) { socket in
                    log.attach(socket)
                    socket.close(.tryAgainLater, reason: String(repeating: "é", count: 100))
                    socket.send(text: "never")
                }
            }
        }) { server in
            let silent = try RawClient(port: server.port)
            #expect(try await silent.upgrade("/bye").status == 101)
            let close = try await silent.frame()
            #expect(close.closeCode == 1013)
            // Cut between characters.
            #expect(close.payload.count == 124)
            #expect(try await silent.sawEnd())
            try await eventually("the owner hears of it") { log.closure != nil }
            #expect(log.closure?.reason == "the peer didn't answer the close frame")
        }
    }

    @Test func `compressed messages are inflated, also in fragments, and answered compressed`() async throws {
        try await withEcho(compressed: true) { client in
            // "Hello" as in RFC 7692, section 7.2.3.1, and once more: no context is kept.
            for _ in 0..<2 {
                try await client.send(RawFrame(first: 0xC1, payload: [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]))
                #expect(try await client.frame() == .text("Hello"))
            }
            try await client.send(RawFrame(first: 0x41, payload: [0xF2, 0x48, 0xCD]))
            try await client.send(RawFrame(first: 0x80, payload: [0xC9, 0xC9, 0x07, 0x00]))
            #expect(try await client.frame() == .text("Hello"))
            // A final block (section 7.2.3.4).
            try await client.send(RawFrame(first: 0xC1, payload: [0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00]))
            #expect(try await client.frame() == .text("Hello"))
            // An uncompressed one is allowed at any time; the answer is worth compressing.
            let long = String(repeating: "abcdefgh", count: 100)
            try await client.send(.text(long))
            let frame = try await client.frame()
            #expect(frame.first == 0xC1)
            #expect(frame.payload.count < 60)
        }
    }
}
