import EventLoop

/// A request with its complete body.
public struct HTTPRequest: Sendable {
    /// The method; the handler of a GET route also receives HEAD requests, as HEAD.
    public let method: HTTPMethod
    /// The path as received, not decoded and without the query. Use ``parameters`` for its parts.
    public let path: String
    /// The query.
    public let query: HTTPQuery
    /// All header fields, with names in lower case.
    public let headers: HTTPHeaders
    /// The request's id in logs and crash reports: the `X-Request-Id` of the client or a proxy, or else a new one.
    public let id: String
    /// The body; chunks are joined.
    public internal(set) var body: [UInt8]
    /// The parameters of the route's template.
    public internal(set) var parameters: PathParameters
    /// The template of the route that matched the path; `nil` if none did. Suitable as a metric's dimension.
    public internal(set) var route: String?
    /// The client's address: that of the connection's peer, or the one that a trusted proxy reports
    /// (``HTTPServerConfiguration/trustedProxies``).
    public let remoteAddress: RemoteAddress
    /// `http`, or `https` if a trusted proxy reports that the client uses TLS.
    public let scheme: String
    /// The loop of the connection, on which handlers start. Actors on this loop can be called without a thread switch.
    public let loop: EventLoop

    /// Creates a request, for tests of handlers.
    public init(
        method: HTTPMethod, target: String, headers: HTTPHeaders = HTTPHeaders(), body: [UInt8] = [],
        parameters: PathParameters = PathParameters(), remoteAddress: RemoteAddress = .unknown, scheme: String = "http",
        loop: EventLoop
    ) {
        self.method = method
        if let mark = target.utf8.firstIndex(of: UInt8(ascii: "?")) {
            path = String(target[..<mark])
            query = HTTPQuery(String(target[target.utf8.index(after: mark)...]))
        } else {
            path = target
            query = HTTPQuery("")
        }
        self.headers = headers
        id = RequestID.of(headers)
        self.body = body
        self.parameters = parameters
        self.remoteAddress = remoteAddress
        self.scheme = scheme
        self.loop = loop
    }

    /// Whether the client requests a WebSocket. Its handshake is checked when the handler answers with
    /// ``HTTPResponse/webSocket(subprotocol:configuration:headers:open:)``.
    public var isWebSocketUpgrade: Bool {
        headers.contains("upgrade", "websocket") && headers.contains("connection", "upgrade")
    }

    /// The subprotocols that the client offers, in the order of preference.
    public var webSocketSubprotocols: [String] {
        (headers["sec-websocket-protocol"] ?? "").split { $0 == "," || $0 == " " || $0 == "\t" }.map(String.init)
    }
}
