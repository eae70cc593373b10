import WebSocket

/// The response of a handler.
public struct HTTPResponse: Sendable {
    /// The content.
    public enum Body: Sendable {
        /// Complete bytes.
        case bytes([UInt8])
        /// A body that is produced while it is sent.
        case stream(HTTPBodyStream)
    }

    /// The status code, 200 to 599.
    public var status: Int
    /// Header fields. `Date`, `Content-Length`, `Transfer-Encoding` and `Connection` are set by the server; fields with an invalid
    /// name or value are left out and logged.
    public var headers: HTTPHeaders
    /// The content. It isn't sent for HEAD requests, or with 204 and 304.
    public var body: Body
    var upgrade: WebSocketUpgrade?

    /// Creates a response with a complete body.
    public init(status: Int = 200, headers: HTTPHeaders = HTTPHeaders(), body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = .bytes(body)
    }

    /// Creates a response whose body is produced while it is sent.
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

    /// An empty response with status 204.
    public static var noContent: HTTPResponse { HTTPResponse(status: 204) }

    /// Accepts an upgrade with 101. An invalid handshake is answered with 400, or with 426 if the version isn't 13.
    ///
    /// - Parameters:
    ///   - subprotocol: the chosen one of ``HTTPRequest/webSocketSubprotocols``; `nil` for none.
    ///   - configuration: the socket's limits and timeouts.
    ///   - headers: additional fields of the 101 response.
    ///   - open: sets the callbacks. It runs on the loop of the connection, on which the socket stays, before the first message is
    ///     read. It isn't called if the client disconnects before.
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

/// The parameters of an upgrade besides the client's handshake.
struct WebSocketUpgrade: Sendable {
    let subprotocol: String?
    let settings: AcceptedSettings
    let open: @Sendable (WebSocket) -> Void
}
