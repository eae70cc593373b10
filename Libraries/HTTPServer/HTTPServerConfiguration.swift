import WebSocket

/// The address and port of a server, and its limits.
public struct HTTPServerConfiguration: Sendable {
    /// The address to listen on: IPv4, or IPv6 (`::` includes IPv4), or a name of this machine. Default: `0.0.0.0`.
    public var address: String
    /// The port; 0 chooses a free one, see ``HTTPServer/port``.
    public var port: Int
    /// The maximum size of the request line and headers of one request, in bytes; beyond it 414 or 431. An access token alone may have 19 KB,
    /// and a request for a stream of changes has it in its query. Default: 32 KiB.
    public var headBytes = 32 << 10
    /// What libmicrohttpd may allocate for a connection: it reads a head into a buffer that it makes larger by copying it, and has the head of
    /// the response beside it. Pages that aren't needed are never touched.
    var connectionBytes: Int { 4 * headBytes }
    /// The maximum number of header fields of one request; beyond it 431. Default: 100.
    public var headerCount = 100
    /// The maximum size of a request's body in bytes, unless the route has its own; beyond it 413. Default: 1 MiB.
    public var bodyBytes = 1 << 20
    /// The maximum size of the bodies of all requests in flight, in bytes, without the first 64 KiB of each. One client address may
    /// use half of it, the next one half of the rest. Beyond it 429, or 503 if other clients use all of it. Default: 256 MiB.
    public var bodiesBytes = 256 << 20
    /// The maximum size of all complete responses that are being sent, in bytes, shared as ``bodiesBytes`` are, without the first 64 KiB of
    /// each. Beyond it a client gets 429 or 503 instead of its response. Default: 256 MiB.
    public var answersBytes = 256 << 20
    /// A connection without traffic for this long is closed, unless its handler runs. Whole seconds. Default: 60 s.
    public var idleTimeout: Duration = .seconds(60)
    /// How long receiving the head and body of one request may take, from the connection's start or the previous response. Late
    /// connections are closed within a second. Default: 120 s.
    public var requestTimeout: Duration = .seconds(120)
    /// A connection whose client took less than 4 KiB per second of a complete response for this long is reset. Streams have no such limit.
    /// Default: 60 s.
    public var sendTimeout: Duration = .seconds(60)
    /// The maximum number of HTTP connections per loop; further ones wait to be accepted. Default: 16,384.
    public var connections = 16_384
    /// The maximum number of HTTP connections per loop from one address; `nil` for no such limit. It counts the peer's address:
    /// behind a proxy, all connections have the proxy's. Default: `nil`.
    public var connectionsPerAddress: Int?
    /// The maximum number of open WebSockets per loop; beyond it upgrades are answered with 503. Default: 20,000.
    public var webSockets = 20_000
    /// How long a graceful stop waits for running requests and for WebSockets to close. Default: 20 s.
    public var drainTimeout: Duration = .seconds(20)
    /// The code with which a graceful stop closes the WebSockets. Default: 1001, going away.
    public var drainCloseCode = WebSocketCloseCode.goingAway
    /// Called when a graceful stop begins, on any thread: responses that would be sent without end have to end. Default: nothing.
    public var onDrain: @Sendable () -> Void = {}
    /// The proxies that are trusted to report where a request comes from: `X-Forwarded-For` and `X-Forwarded-Proto` of all other
    /// peers are ignored. Default: none.
    public var trustedProxies = TrustedProxies.none
    /// The pages of other origins that may call the server; `nil` for none. Default: `nil`.
    public var cors: CORSPolicy?

    /// Creates a configuration with the defaults that the properties describe.
    public init(address: String = "0.0.0.0", port: Int = 8080) {
        self.address = address
        self.port = port
    }
}
