import EventLoop

/// A request whose body is in.
public struct HTTPRequest: Sendable {
    /// The method; a HEAD request comes to the handler of GET as HEAD.
    public let method: HTTPMethod
    /// The path as it came, not decoded, without the query. Use ``parameters`` for its parts.
    public let path: String
    /// The query.
    public let query: HTTPQuery
    /// All header fields, names in lower case.
    public let headers: HTTPHeaders
    /// Names the request in logs and crash reports; the client's or a proxy's `X-Request-Id`, if there is one.
    public let id: String
    /// The body; chunks are put together.
    public internal(set) var body: [UInt8]
    /// What the route's template took from the path.
    public internal(set) var parameters: PathParameters
    /// The template of the route that matched the path; nil where none did. Good as a metric's dimension.
    public internal(set) var route: String?
    /// The client: where the connection comes from, or what a trusted proxy says (``HTTPServerConfiguration/trustedProxies``).
    public let remoteAddress: RemoteAddress
    /// `http`, or `https` when a trusted proxy says that the client came by TLS.
    public let scheme: String
    /// The loop of the connection, on which handlers begin. Actors that live there are reached without a change of
    /// thread.
    public let loop: EventLoop

    /// The server makes requests; this is for tests of handlers.
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

    /// The client asks for a WebSocket. Whether its handshake is right is checked when the handler answers with
    /// ``HTTPResponse/webSocket(subprotocol:configuration:headers:open:)``.
    public var isWebSocketUpgrade: Bool {
        headers.contains("upgrade", "websocket") && headers.contains("connection", "upgrade")
    }

    /// The subprotocols that the client offers, the one it likes best first.
    public var webSocketSubprotocols: [String] {
        (headers["sec-websocket-protocol"] ?? "").split { $0 == "," || $0 == " " || $0 == "\t" }.map(String.init)
    }
}
