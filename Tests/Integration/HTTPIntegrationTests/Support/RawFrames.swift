import Testing
import WebSocket

/// A frame as a test sees it.
struct RawFrame: Sendable, Equatable {
    var first: UInt8
    var payload: [UInt8]

    var opcode: UInt8 { first & 15 }
    var text: String { String(decoding: payload, as: UTF8.self) }
    /// The code of a close frame.
    var closeCode: Int? { payload.count >= 2 ? Int(payload[0]) << 8 | Int(payload[1]) : nil }

    static func text(_ text: String) -> RawFrame { RawFrame(first: 0x81, payload: Array(text.utf8)) }
    static func close(_ code: UInt16) -> RawFrame {
        RawFrame(first: 0x88, payload: [UInt8(code >> 8), UInt8(code & 255)])
    }

    /// As a client sends it.
    func masked(_ isMasked: Bool = true) -> [UInt8] {
        let bit: UInt8 = isMasked ? 0x80 : 0
        var bytes = [first]
        switch payload.count {
        case ..<126: bytes.append(bit | UInt8(payload.count))
        case ..<65536: bytes += [bit | 126, UInt8(payload.count >> 8), UInt8(payload.count & 255)]
        default: bytes += [bit | 127] + (0..<8).map { UInt8(truncatingIfNeeded: payload.count >> (8 * (7 - $0))) }
        }
        guard isMasked else { return bytes + payload }
        let key: [UInt8] = [0x11, 0x22, 0x33, 0x44]
        return bytes + key + payload.enumerated().map { $1 ^ key[$0 & 3] }
    }
}

extension RawClient {
    /// Upgrades; the answer isn't checked.
    func upgrade(_ path: String, headers: [String] = [], early: [UInt8] = []) throws -> RawResponse {
        let head = [
            "GET \(path) HTTP/1.1", "Host: test", "Upgrade: websocket", "Connection: keep-alive, Upgrade",
            "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        ]
        try send(Array(((head + headers).joined(separator: "\r\n") + "\r\n\r\n").utf8) + early)
        return try response()
    }

    func send(_ frame: RawFrame) throws { try send(frame.masked()) }

    /// The next frame of a server.
    func frame() throws -> RawFrame {
        let header = try take(2)
        var count = Int(header[1] & 127)
        if count == 126 { count = try take(2).reduce(0) { $0 << 8 | Int($1) } }
        if count == 127 { count = try take(8).reduce(0) { $0 << 8 | Int($1) } }
        return RawFrame(first: header[0], payload: try take(count))
    }
}
