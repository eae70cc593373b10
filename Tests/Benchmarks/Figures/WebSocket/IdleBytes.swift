import BenchmarkRunner
import CBenchmarkReferences
import EventLoop
import Glibc
import HTTPServer
import Logging
import Metrics
import WebSocket

/// What an idle WebSocket costs its server in resident memory, after it has sent and received a message, with compression agreed on
/// and the deadlines of production; its client is a descriptor.
let webSocketIdleBytes = Benchmark(Figure("websocket.idle-bytes", .bytes, goal: .value(atMost: 12_288))) { _ in
    let count = 5_000
    // These bring what all sockets share.
    let first = 200
    var router = HTTPRouter()
    router.webSocket("/echo") { _ in
        .webSocket { socket in
            socket.onMessage = { [unowned socket] kind, bytes in socket.send(WebSocketFrame(kind, bytes)) }
        }
    }
    let loops = LoopGroup(1, name: "websocket")
    let server = HTTPServer(
        HTTPServerConfiguration(address: "127.0.0.1", port: 0), router: router, loops: loops.loops,
        logger: Logger(label: "benchmark"), registry: MetricsRegistry())
    try await server.start()
    var clients: [WebSocketClientSocket] = []
    clients.reserveCapacity(count)
    for _ in 0..<first { clients.append(try .echoing(port: server.port)) }
    let before = try residentBytes()
    for _ in first..<count { clients.append(try .echoing(port: server.port)) }
    let each = Double(try residentBytes() - before) / Double(count - first)
    for client in clients { client.close() }
    await server.stop(drainingFor: .zero)
    await loops.shutDown()
    return [Measurement(value: each)]
}

extension WebSocketClientSocket {
    fileprivate static func echoing(port: Int) throws -> WebSocketClientSocket {
        let socket = try WebSocketClientSocket(port: port, path: "/echo", deflates: true)
        try socket.send("hello")
        guard try socket.receive() == Array("hello".utf8) else { throw BenchmarkError("no echo") }
        return socket
    }
}

/// This process's resident memory.
private func residentBytes() throws -> Int {
    let text = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
    guard let pages = text.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
        throw BenchmarkError("/proc/self/statm: \(text)")
    }
    return pages * Int(getpagesize())
}
