extension HTTPClient {
    /// The settings of a client for all of its requests.
    public struct Configuration: Sendable {
        /// The time limit for a whole exchange (default: 30 s).
        public var timeout: Duration = .seconds(30)
        /// The time limit for connecting, including TLS (default: 10 s).
        public var connectTimeout: Duration = .seconds(10)
        /// The maximum size of a response body in bytes (default: 16 MiB).
        public var maximumResponseBytes = 16 << 20
        /// The maximum number of exchanges in flight; more are refused with `overloaded` (default: 1000).
        public var maximumRequests = 1000
        /// The maximum number of connections per host; further exchanges wait for one within their time limit (default: 32).
        public var maximumConnectionsPerHost = 32
        /// The maximum number of connections that are kept open for reuse (default: 32).
        public var maximumIdleConnections = 32
        /// The addresses to which it may connect (default: all). A client with a proxy connects only to the proxy, which then has
        /// to enforce a policy.
        public var egress = EgressPolicy.unrestricted
        /// A file of certificates to trust instead of the system's.
        public var certificateAuthorityFile: String?
        /// The URL of a proxy. The environment's variables for proxies are not read.
        public var proxy: String?
        /// The field `User-Agent`.
        public var userAgent = "partita"

        /// Makes a configuration with the defaults.
        public init() {}
    }
}
