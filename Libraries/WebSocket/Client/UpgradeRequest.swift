/// A client's request for a WebSocket.
struct UpgradeRequest {
    let url: WebSocketURL
    let key = WebSocketHandshake.makeKey()
    let subprotocols: [String]
    let offersCompression: Bool
    private let headers: [(String, String)]

    init(
        url: WebSocketURL, headers: [(String, String)], subprotocols: [String], offersCompression: Bool
    ) throws(WebSocketError) {
        for (name, value) in headers {
            guard !name.isEmpty, name.utf8.allSatisfy(Self.isTokenByte),
                value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
            else {
                throw WebSocketError(.invalidURL, "header \(name) can't be sent")
            }
        }
        guard subprotocols.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(Self.isTokenByte) }) else {
            throw WebSocketError(.invalidURL, "a subprotocol can't be sent")
        }
        self.url = url
        self.headers = headers
        self.subprotocols = subprotocols
        self.offersCompression = offersCompression
    }

    /// The bytes of the request.
    var bytes: [UInt8] {
        var text = """
            GET \(url.target) HTTP/1.1\r
            Host: \(url.authority)\r
            Upgrade: websocket\r
            Connection: Upgrade\r
            Sec-WebSocket-Key: \(key)\r
            Sec-WebSocket-Version: 13\r\n
            """
        if !subprotocols.isEmpty { text += "Sec-WebSocket-Protocol: \(subprotocols.joined(separator: ", "))\r\n" }
        if offersCompression { text += "Sec-WebSocket-Extensions: \(CompressionAgreement.offer)\r\n" }
        for (name, value) in headers { text += "\(name): \(value)\r\n" }
        return Array((text + "\r\n").utf8)
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
