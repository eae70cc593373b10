extension HTTPClient {
    /// How a client behaves for all of its requests.
    public struct Configuration: Sendable {
        /// Time for a whole exchange (default: 30 s).
        public var timeout: Duration = .seconds(30)
        /// Time for connecting, TLS included (default: 10 s).
        public var connectTimeout: Duration = .seconds(10)
        /// The largest response body that is taken (default: 16 MiB).
        public var maximumResponseBytes = 16 << 20
        /// Exchanges that may be under way at once; more are refused with `overloaded` (default: 1000).
        public var maximumRequests = 1000
        /// Connections per host; exchanges beyond wait for one within their time (default: 32).
        public var maximumConnectionsPerHost = 32
        /// Connections that are kept open for reuse (default: 32).
        public var maximumIdleConnections = 32
        /// Where it connects to (default: everywhere). A client with a proxy connects to the proxy, which then has to look after that.
        public var egress = EgressPolicy.unrestricted
        /// A file of certificates to trust instead of the system's.
        public var certificateAuthorityFile: String?
        /// The URL of a proxy. The environment's variables for proxies are not read.
        public var proxy: String?
        /// The field `User-Agent`.
        public var userAgent = "partita"

        /// Makes a configuration of the defaults.
        public init() {}
    }
}
