import WebSocket

/// What a handler answers.
public struct HTTPResponse: Sendable {
    /// The content.
    public enum Body: Sendable {
        /// All at once.
        case bytes([UInt8])
        /// Written while it is sent.
        case stream(HTTPBodyStream)
    }

    /// The status code, 200 to 599.
    public var status: Int
    /// Header fields. `Date`, `Content-Length`, `Transfer-Encoding` and `Connection` are the server's; a name or value
    /// that can't stand in a header is left out and logged.
    public var headers: HTTPHeaders
    /// The content. It isn't sent in answer to HEAD, or with 204 and 304.
    public var body: Body
    var upgrade: WebSocketUpgrade?

    /// An answer from bytes.
    public init(status: Int = 200, headers: HTTPHeaders = HTTPHeaders(), body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = .bytes(body)
    }

    /// An answer that is written while it is sent.
    public init(status: Int = 200, headers: HTTPHeaders = HTTPHeaders(), stream: HTTPBodyStream) {
        self.status = status
        self.headers = headers
        body = .stream(stream)
    }

    /// JSON text with `Content-Type: application/json`.
    public static func json(_ bytes: [UInt8], status: Int = 200) -> HTTPResponse {
        HTTPResponse(status: status, headers: ["Content-Type": "application/json"], body: bytes)
    }

    /// JSON text with `Content-Type: application/json`.
    public static func json(_ text: String, status: Int = 200) -> HTTPResponse {
        json(Array(text.utf8), status: status)
    }

    /// UTF-8 text with `Content-Type: text/plain; charset=utf-8`.
    public static func text(_ text: String, status: Int = 200) -> HTTPResponse {
        HTTPResponse(status: status, headers: ["Content-Type": "text/plain; charset=utf-8"], body: Array(text.utf8))
    }

    /// Nothing to say: 204.
    public static var noContent: HTTPResponse { HTTPResponse(status: 204) }

    /// Accepts an upgrade with 101. A handshake that isn't right is answered with 400, or 426 where the version is
    /// another than 13.
    ///
    /// - Parameters:
    ///   - subprotocol: the chosen one of ``HTTPRequest/webSocketSubprotocols``; nil for none.
    ///   - configuration: limits and times.
    ///   - headers: further fields of the 101.
    ///   - open: sets the callbacks; runs on the loop of the connection, before the first message is read. The socket
    ///     stays on that loop. Not called if the client leaves before.
    public static func webSocket(
        subprotocol: String? = nil, configuration: WebSocketConfiguration = WebSocketConfiguration(),
        headers: HTTPHeaders = HTTPHeaders(), open: @escaping @Sendable (WebSocket) -> Void
    ) -> HTTPResponse {
        var response = HTTPResponse(status: 101, headers: headers)
        response.upgrade = WebSocketUpgrade(
            subprotocol: subprotocol, settings: AcceptedSettings(configuration), open: open)
        return response
    }
}

/// What an upgrade needs beside the client's handshake.
struct WebSocketUpgrade: Sendable {
    let subprotocol: String?
    let settings: AcceptedSettings
    let open: @Sendable (WebSocket) -> Void
}
