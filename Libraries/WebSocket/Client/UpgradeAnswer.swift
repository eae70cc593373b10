/// The parsed head of a server's response to an ``UpgradeRequest``. Parsing is strict: anything unusual is refused.
struct UpgradeAnswer {
    static let maxHeadBytes = 16 << 10

    /// The negotiated parameters.
    struct Agreement: Equatable {
        var subprotocol: String?
        var isCompressed: Bool
    }

    let status: Int
    private let fields: [(name: String, value: String)]

    /// The number of bytes of the head including its blank line; `nil` when it isn't complete.
    static func headLength(_ bytes: [UInt8]) -> Int? {
        let end: [UInt8] = [13, 10, 13, 10]
        guard bytes.count >= 4 else { return nil }
        return (0...(bytes.count - 4)).first { bytes[$0..<($0 + 4)].elementsEqual(end) }.map { $0 + 4 }
    }

    /// - Parameter head: the head, including its blank line.
    init(head: some Sequence<UInt8>) throws(WebSocketError) {
        guard let text = String(validating: Array(head), as: UTF8.self) else {
            throw WebSocketError(.invalidHandshake, "the answer's head isn't UTF-8")
        }
        // Split by bytes, because "\r\n" is a single character in Swift.
        let lines = text.utf8.split(separator: 13, omittingEmptySubsequences: false).map { line in
            Substring(line.first == 10 ? line.dropFirst() : line)
        }
        guard let first = lines.first, first.hasPrefix("HTTP/1.1 ") else {
            throw WebSocketError(.invalidHandshake, "not an HTTP/1.1 answer")
        }
        guard let status = Int(first.dropFirst(9).prefix(3)), (100...599).contains(status) else {
            throw WebSocketError(.invalidHandshake, "no status")
        }
        self.status = status
        var fields: [(name: String, value: String)] = []
        for line in lines.dropFirst() where !line.isEmpty {
            guard let colon = line.firstIndex(of: ":"), colon > line.startIndex else {
                throw WebSocketError(.invalidHandshake, "malformed header")
            }
            fields.append((line[..<colon].lowercased(), WebSocketHandshake.trim(line[line.index(after: colon)...])))
        }
        self.fields = fields
    }

    /// All values of a header, joined by commas; `nil` when there is none.
    func value(_ name: String) -> String? {
        let values = fields.filter { $0.name == name }.map(\.value)
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }

    /// Checks a 101 against the request (RFC 6455, section 4.1).
    func agreement(with request: UpgradeRequest) throws(WebSocketError) -> Agreement {
        guard let upgrade = value("upgrade"), upgrade.lowercased() == "websocket",
            let connection = value("connection"), WebSocketHandshake.contains(connection, "upgrade")
        else { throw WebSocketError(.invalidHandshake, "101 without an upgrade to websocket") }
        guard value("sec-websocket-accept") == WebSocketHandshake.accept(for: request.key) else {
            throw WebSocketError(.invalidHandshake, "Sec-WebSocket-Accept doesn't match the key")
        }
        let subprotocol = value("sec-websocket-protocol")
        if let subprotocol, !request.subprotocols.contains(subprotocol) {
            throw WebSocketError(.invalidHandshake, "a subprotocol that wasn't offered")
        }
        let extensions = value("sec-websocket-extensions") ?? ""
        let isCompressed = CompressionAgreement.isAccepted(in: extensions)
        guard let isCompressed, request.offersCompression || !isCompressed else {
            throw WebSocketError(.invalidHandshake, "an extension that wasn't offered")
        }
        return Agreement(subprotocol: subprotocol, isCompressed: isCompressed)
    }
}
