import Ccrypto

/// The parts of the opening handshake (RFC 6455, section 4) that both sides need.
package enum WebSocketHandshake {
    /// `Sec-WebSocket-Accept` for a client's key.
    package static func accept(for key: String) -> String {
        let text = Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)
        var digest = [UInt8](repeating: 0, count: 20)
        SHA1(text, text.count, &digest)
        return base64(digest)
    }

    /// Whether a key is sixteen bytes in base64: 22 characters and two padding characters.
    package static func isValidKey(_ key: String) -> Bool {
        let bytes = Array(key.utf8)
        guard bytes.count == 24, bytes[22] == UInt8(ascii: "="), bytes[23] == UInt8(ascii: "=") else { return false }
        return bytes[..<22].allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
                true
            default: false
            }
        }
    }

    /// Generates a key for a client's request.
    static func makeKey() -> String { base64((0..<16).map { _ in .random(in: .min ... .max) }) }

    /// The members of a comma-separated header value, without empty ones.
    package static func list(_ value: String) -> [String] {
        value.split(separator: ",").map { trim($0) }.filter { !$0.isEmpty }
    }

    /// Whether a comma-separated header value has a member, compared case-insensitively.
    package static func contains(_ value: String, _ token: String) -> Bool {
        list(value).contains { $0.lowercased() == token }
    }

    /// The text without blanks at its ends.
    static func trim(_ text: some StringProtocol) -> String {
        let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        guard let first = text.firstIndex(where: { !isBlank($0) }), let last = text.lastIndex(where: { !isBlank($0) })
        else {
            return ""
        }
        return String(text[first...last])
    }

    private static func base64(_ bytes: [UInt8]) -> String {
        var text = [UInt8](repeating: 0, count: (bytes.count + 2) / 3 * 4 + 1)
        let count = EVP_EncodeBlock(&text, bytes, Int32(bytes.count))
        return String(decoding: text[..<Int(count)], as: UTF8.self)
    }
}
