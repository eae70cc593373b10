import BenchmarkRunner
import CBenchmarkReferences
import Glibc

/// A WebSocket's client as a bare descriptor, whose calls block: it costs its process next to nothing.
struct WebSocketClientSocket: Sendable {
    let descriptor: Int32

    init(port: Int, path: String, subprotocol: String? = nil, deflates: Bool = false) throws {
        descriptor = reference_websocket_open(Int32(port), path, subprotocol, deflates)
        try Self.check(Int(descriptor), "connecting")
    }

    func send(_ text: String) throws {
        let bytes = Array(text.utf8)
        try Self.check(Int(reference_websocket_send(descriptor, bytes, bytes.count)), "sending")
    }

    func send(bytes: [UInt8]) throws {
        try Self.check(Int(reference_websocket_send_bytes(descriptor, bytes, bytes.count)), "sending")
    }

    /// The next message's payload.
    func receive() throws -> [UInt8] {
        var payload = [UInt8](repeating: 0, count: 64 << 10)
        let count = reference_websocket_receive(descriptor, &payload, payload.count)
        try Self.check(count, "receiving")
        return Array(payload[..<count])
    }

    func close() { Glibc.close(descriptor) }

    /// - Throws: `BenchmarkError` for what the references return when they fail.
    static func check(_ status: Int, _ what: String) throws {
        if status < 0 { throw BenchmarkError("\(what): \(String(cString: strerror(Int32(-status))))") }
    }
}
