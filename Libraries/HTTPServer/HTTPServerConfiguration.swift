import WebSocket

/// Where a server listens, and its limits.
public struct HTTPServerConfiguration: Sendable {
    /// The address to listen on: IPv4, or IPv6 (`::` takes IPv4 too), or a name of this machine. Default: `0.0.0.0`.
    public var address: String
    /// The port, 0 for one that is free; see ``HTTPServer/port``.
    public var port: Int
    /// Request line and headers of one request, in bytes, about; above it 414 or 431. It is also the most that
    /// libmicrohttpd allocates for a connection. Default: 16 KiB.
    public var headBytes = 16 << 10
    /// Header fields of one request; above it 431. Default: 100.
    public var headerCount = 100
    /// The body of one request, in bytes, where the route doesn't say otherwise; above it 413. Default: 1 MiB.
    public var bodyBytes = 1 << 20
    /// The bodies of all requests that are under way, in bytes, beyond the first 64 KiB of each; a caller's address may have half of
    /// it, another one half of the rest. Above it 429, or 503 where others have it all. Default: 256 MiB.
    public var bodiesBytes = 256 << 20
    /// A connection on which nothing moves for this long is closed, unless its handler runs. Whole seconds. Default: 60
    /// s.
    public var idleTimeout: Duration = .seconds(60)
    /// How long head and body of one request may take to come, from the connection or the answer before it. Late ones
    /// are closed, within a second. Default: 120 s.
    public var requestTimeout: Duration = .seconds(120)
    /// HTTP connections per loop; above it new ones wait unaccepted. Default: 16,384.
    public var connections = 16_384
    /// HTTP connections of one address per loop; nil for no such limit. It is the other
    /// end's address: behind a proxy all have the proxy's. Default:
    /// nil.
    public var connectionsPerAddress: Int?
    /// Open WebSockets per loop; above it upgrades are answered with 503. Default: 20,000.
    public var webSockets = 20_000
    /// How long a graceful stop waits for running requests and for WebSockets to close. Default: 20 s.
    public var drainTimeout: Duration = .seconds(20)
    /// The code with which a graceful stop closes the WebSockets. Default: 1001, going away.
    public var drainCloseCode = WebSocketCloseCode.goingAway
    /// Whose word counts for where a request comes from: `X-Forwarded-For` and `X-Forwarded-Proto` of everybody else
    /// are ignored. Default: nobody's.
    public var trustedProxies = TrustedProxies.none
    /// Pages of other origins that may call; nil for none. Default: nil.
    public var cors: CORSPolicy?

    /// See the properties for the defaults.
    public init(address: String = "0.0.0.0", port: Int = 8080) {
        self.address = address
        self.port = port
    }
}
