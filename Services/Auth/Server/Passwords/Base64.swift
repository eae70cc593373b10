import Foundation

/// Base64 (RFC 4648 §4).
enum Base64 {
    /// With padding.
    static func encode(_ text: String) -> String { Data(text.utf8).base64EncodedString() }

    /// Without padding.
    static func decodeUnpadded(_ text: String) -> [UInt8]? {
        let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        return Data(base64Encoded: text + padding).map(Array.init)
    }
}
