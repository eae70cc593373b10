/// The parts of a `ws://` or `wss://` URL that a client needs.
struct WebSocketURL: Equatable {
    /// Whether the scheme is `wss://`.
    let isSecure: Bool
    /// The host; an IPv6 address is without brackets.
    let host: String
    let port: UInt16
    /// Path and query in the form of the request line.
    let target: String
    /// The value of the `Host` header.
    let authority: String

    init(_ text: String) throws(WebSocketError) {
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw WebSocketError(.invalidURL, "the URL has a character that can't be sent")
        }
        isSecure = text.lowercased().hasPrefix("wss://")
        guard isSecure || text.lowercased().hasPrefix("ws://") else {
            throw WebSocketError(.invalidURL, "the URL begins neither with ws:// nor with wss://")
        }
        let rest = text.dropFirst(isSecure ? 6 : 5)
        let end = rest.firstIndex { $0 == "/" || $0 == "?" || $0 == "#" } ?? rest.endIndex
        let authority = rest[..<end]
        guard !authority.isEmpty, !authority.contains("@") else {
            throw WebSocketError(.invalidURL, "no host, or credentials")
        }
        let target = rest[end...].prefix { $0 != "#" }
        self.target = target.hasPrefix("/") ? String(target) : "/" + target
        self.authority = String(authority)
        (host, port) = try Self.split(authority, defaultPort: isSecure ? 443 : 80)
    }

    private static func split(
        _ authority: Substring, defaultPort: UInt16
    ) throws(WebSocketError) -> (String, UInt16) {
        let host: Substring, rest: Substring
        if authority.hasPrefix("["), let close = authority.firstIndex(of: "]") {
            host = authority[authority.index(after: authority.startIndex)..<close]
            rest = authority[authority.index(after: close)...]
        } else {
            let colon = authority.firstIndex(of: ":") ?? authority.endIndex
            host = authority[..<colon]
            rest = authority[colon...]
        }
        if rest.isEmpty, !host.isEmpty { return (String(host), defaultPort) }
        guard !host.isEmpty, rest.hasPrefix(":"), let port = UInt16(rest.dropFirst()), port > 0 else {
            throw WebSocketError(.invalidURL, "malformed authority")
        }
        return (String(host), port)
    }
}
