/// The negotiation of permessage-deflate (RFC 7692, section 7.1), always without context takeover on both sides, so that a
/// compressed frame can be shared, and an idle socket needs no zlib state.
package enum CompressionAgreement {
    /// A client's offer.
    static let offer = "permessage-deflate; server_no_context_takeover; client_no_context_takeover"
    /// A server's answer.
    package static let answer = "permessage-deflate; server_no_context_takeover; client_no_context_takeover"

    /// Whether one of the offers in a `Sec-WebSocket-Extensions` header can be accepted with ``answer``.
    package static func isOffered(in header: String) -> Bool {
        WebSocketHandshake.list(header).contains { offer in
            guard let parameters = parameters(of: offer) else { return false }
            return parameters.allSatisfy { name, value in
                switch name {
                case "server_no_context_takeover", "client_no_context_takeover": value == nil
                // A smaller window of the server would need separate frames; the shared ones use 15.
                case "server_max_window_bits": value == "15"
                // This only permits the server to request a smaller window of the client.
                case "client_max_window_bits": value == nil || isWindow(value)
                default: false
                }
            }
        }
    }

    /// Whether a server's answer accepts ``offer``; `nil` when it accepts something that wasn't offered.
    static func isAccepted(in header: String) -> Bool? {
        let answers = WebSocketHandshake.list(header)
        guard !answers.isEmpty else { return false }
        guard answers.count == 1, let parameters = parameters(of: answers[0]) else { return nil }
        let isKnown = parameters.allSatisfy { name, value in
            switch name {
            case "server_no_context_takeover", "client_no_context_takeover": value == nil
            case "server_max_window_bits": isWindow(value)
            default: false
            }
        }
        return isKnown && parameters.contains { $0.name == "server_no_context_takeover" } ? true : nil
    }

    private static func isWindow(_ value: String?) -> Bool {
        guard let value, let bits = Int(value) else { return false }
        return (8...15).contains(bits)
    }

    /// The parameters of the extension; `nil` when it is a different one, or a parameter occurs twice.
    private static func parameters(of extension: String) -> [(name: String, value: String?)]? {
        let parts = `extension`.split(separator: ";").map { WebSocketHandshake.trim($0) }
        guard parts.first?.lowercased() == "permessage-deflate" else { return nil }
        let parameters = parts.dropFirst().map { part -> (name: String, value: String?) in
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let value = pair.count == 2 ? WebSocketHandshake.trim(pair[1]).filter { $0 != "\"" } : nil
            return (WebSocketHandshake.trim(pair[0]).lowercased(), value)
        }
        return Set(parameters.map(\.name)).count == parameters.count ? parameters : nil
    }
}
