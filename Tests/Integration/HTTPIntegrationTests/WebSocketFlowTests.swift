import EventLoop
import Foundation
import HTTPServer
import Testing
import WebSocket

@Suite(.serialized) struct WebSocketFlowTests {
    @Test func `a peer that doesn't read has a bounded queue, and the owner is notified when it reads`() async throws {
        let drained = Box(0), sent = Box(0), opened = Box<WebSocket?>(nil)
        try await withServer(routes: { router in
            router.webSocket("/flood") { _ in
                .webSocket { socket in
                    let frame = WebSocketFrame(.binary, [UInt8](repeating: 1, count: 10_000))
                    opened.update { $0 = socket }
                    let fill: @Sendable () -> Void = { [unowned socket] in
                        while socket.queuedBytes < 1 << 20, sent.value < 2000 {
                            socket.send(frame)
                            sent.update { $0 += 1 }
                        }
                    }
                    socket.onDrain = {
                        drained.update { $0 += 1 }
                        fill()
                    }
                    fill()
                }
            }
        }) { server in
            let client = try RawClient(port: server.port, receiveBuffer: 4096)
            #expect(try await client.upgrade("/flood").status == 101)
            let socket = try await opened.present()
            try await eventually("the kernel is full") {
                let first = await socket.read { $0.queuedBytes }
                try await Task.sleep(for: .milliseconds(20))
                return await socket.read { $0.queuedBytes } == first && first > 0
            }
            #expect(sent.value < 2000)
            #expect(await socket.read { $0.queuedBytes } < (1 << 20) + 20_000)
            for _ in 0..<2000 { #expect(try await client.frame().payload.count == 10_000) }
            #expect(sent.value == 2000)
            #expect(drained.value > 0)
            #expect(await socket.read { $0.queuedBytes } == 0)
        }
    }

    @Test func `a peer that reads slowly gets what is queued, and the close frame behind it`() async throws {
        let opened = Box<WebSocket?>(nil)
        var configuration = WebSocketConfiguration()
        configuration.maxMessageBytes = 1000
        try await withServer(routes: { [configuration] router in
            router.webSocket("/flood") { _ in
                .webSocket(configuration: configuration) { socket in
                    opened.update { $0 = socket }
                    let frame = WebSocketFrame(.binary, [UInt8](repeating: 1, count: 400_000))
                    for _ in 0..<30 { socket.send(frame) }
                }
            }
        }) { server in
            let client = try RawClient(port: server.port, receiveBuffer: 4096)
            #expect(try await client.upgrade("/flood").status == 101)
            _ = try await opened.present()
            try await client.send([0x82, 0xFF, 0, 0, 0, 1, 0, 0, 0, 0, 1, 2, 3, 4, 5])
            for _ in 0..<30 {
                #expect(try await client.frame().payload.count == 400_000)
                try await Task.sleep(for: .milliseconds(200))  // slower than a socket lingers for one that doesn't read
            }
            let close = try await client.frame()
            #expect(close.opcode == 8 && close.payload.prefix(2) == [0x03, 0xF1])
        }
    }

    @Test func `a queue above the last bound resets the connection`() async throws {
        let log = SocketLog()
        var configuration = WebSocketConfiguration()
        configuration.maxQueuedBytes = 1 << 20
        try await withServer(routes: { [configuration] router in
            router.webSocket("/flood") { _ in
                .webSocket(configuration: configuration) { socket in
                    log.attach(socket)
                    let frame = WebSocketFrame(.binary, [UInt8](repeating: 1, count: 100_000))
                    for _ in 0..<100 { socket.send(frame) }
                }
            }
        }) { server in
            let client = try RawClient(port: server.port)
            _ = try? await client.upgrade("/flood")
            try await eventually("it ends") { log.closure != nil }
            #expect(log.closure == WebSocketClosure(.tryAgainLater, "the peer reads too slowly"))
        }
    }

    @Test func `a paused socket reads nothing and goes on where it was`() async throws {
        let log = SocketLog(), opened = Box<WebSocket?>(nil)
        try await withServer(routes: { router in
            router.webSocket("/slow") { _ in
                .webSocket { socket in
                    log.attach(socket)
                    let seen = socket.onMessage
                    socket.onMessage = { [unowned socket] opcode, bytes in
                        seen?(opcode, bytes)
                        socket.pauseReading()
                    }
                    opened.update { $0 = socket }
                }
            }
        }) { server in
            let client = try RawClient(port: server.port)
            let long = String(repeating: "x", count: 5000)
            let early = RawFrame.text("0").masked() + RawFrame.text("1").masked()
            #expect(try await client.upgrade("/slow", early: early).status == 101)
            try await client.send((2..<6).flatMap { RawFrame.text("\($0)").masked() })
            try await client.send(.text(long))
            try await client.send(.close(1000))
            let socket = try await opened.present()
            for number in 0..<6 {
                try await eventually("message \(number) comes") { log.messages.count == number + 1 }
                // It would have arrived by now.
                _ = await socket.read { _ in }
                #expect(log.messages.count == number + 1)
                socket.onLoop { $0.resumeReading() }
            }
            try await eventually("the long one comes") { log.texts.last == long }
            #expect(log.closure == nil)
            socket.onLoop { $0.resumeReading() }
            try await eventually("the close frame comes") { log.closure != nil }
            #expect(log.texts == ["0", "1", "2", "3", "4", "5", long])
        }
    }

    @Test func `a frame for many sockets is encoded once`() async throws {
        let sockets = Box<[WebSocket]>([]), loop = testLoops.next()
        try await withServer(
            loops: [loop],
            routes: { router in
                router.webSocket("/fan") { _ in .webSocket { socket in sockets.update { $0.append(socket) } } }
            }
        ) { server in
            var clients: [RawClient] = []
            for number in 0..<20 {
                let client = try RawClient(port: server.port)
                let extensions = number.isMultiple(of: 2) ? ["Sec-WebSocket-Extensions: permessage-deflate"] : []
                #expect(try await client.upgrade("/fan", headers: extensions).status == 101)
                clients.append(client)
            }
            let text = String(repeating: #"{"type":"download"}"#, count: 50)
            let frames = [WebSocketFrame(text: text, isCompressible: true), WebSocketFrame(text: "short")]
            loop.execute { for socket in sockets.value { for frame in frames { socket.send(frame) } } }
            for (number, client) in clients.enumerated() {
                let first = try await client.frame()
                #expect(first.first == (number.isMultiple(of: 2) ? 0xC1 : 0x81))
                #expect(number.isMultiple(of: 2) ? first.payload.count < 100 : first.text == text)
                #expect(try await client.frame() == .text("short"))
            }
        }
    }

    @Test func `terminate lets nothing more through`() async throws {
        let opened = Box<WebSocket?>(nil), log = SocketLog()
        try await withServer(routes: { router in
            router.webSocket("/cut") { _ in
                .webSocket { socket in
                    log.attach(socket)
                    opened.update { $0 = socket }
                }
            }
        }) { server in
            let client = try RawClient(port: server.port)
            #expect(try await client.upgrade("/cut").status == 101)
            let socket = try await opened.present()
            await socket.read { socket in
                socket.send(text: "secret")
                socket.terminate()
                socket.send(text: "late")
                socket.close()
                socket.resumeReading()
            }
            #expect(try await client.sawEnd())
            #expect(log.closure?.code == .abnormal)
        }
    }

    @Test func `thousands of connections leak no descriptor and no handle`() async throws {
        let loop = testLoops.loops[0]
        try await withServer(loops: [loop], routes: { $0.echo("/echo") }) { server in
            let url = "ws://127.0.0.1:\(server.port)/echo"
            // Descriptors that are opened once per process are open now.
            try await Self.openAndClose(url, on: loop, ending: 0)
            try await eventually("it is closed") { Self.openDescriptors(of: server.port) == 0 }
            let handles = await Self.handles(of: loop)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for worker in 0..<20 {
                    group.addTask {
                        for round in 0..<100 { try await Self.openAndClose(url, on: loop, ending: worker + round) }
                    }
                }
                try await group.waitForAll()
            }
            try await eventually("all are closed") { Self.openDescriptors(of: server.port) == 0 }
            try await eventually("no handle is left") { await Self.handles(of: loop) <= handles }
        }
    }

    private static func openAndClose(_ url: String, on loop: EventLoop, ending: Int) async throws {
        let log = SocketLog()
        let socket = try await WebSocketClient.connect(url, on: loop) { socket in
            log.attach(socket)
            socket.send(text: "hello")
        }
        try await eventually("the echo comes") { log.messages.count == 1 }
        switch ending % 3 {
        case 0: socket.onLoop { $0.close() }
        case 1: socket.onLoop { $0.terminate() }
        default: socket.onLoop { $0.close(.goingAway, reason: "bye") }
        }
        try await eventually("it ends") { log.closure != nil }
    }

    /// Connections with the port at either end.
    private static func openDescriptors(of port: Int) -> Int {
        guard let table = try? String(contentsOfFile: "/proc/self/net/tcp", encoding: .utf8) else { return -1 }
        let wanted = ":" + String(port, radix: 16, uppercase: true)
        return table.split(separator: "\n").dropFirst().count { line in
            let fields = line.split(separator: " ")
            // An inode of zero belongs to no process (TIME_WAIT); 0A listens.
            return fields.count > 9 && fields[3] != "0A" && fields[9] != "0"
                && (fields[1].hasSuffix(wanted) || fields[2].hasSuffix(wanted))
        }
    }

    private static func handles(of loop: EventLoop) async -> Int {
        await withCheckedContinuation { continuation in
            loop.execute { continuation.resume(returning: loop.openHandles) }
        }
    }
}
