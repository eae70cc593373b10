import TLS

/// An error while a WebSocket is being opened.
///
/// An open WebSocket reports its end through ``WebSocket/onClose``, never through an error.
public struct WebSocketError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String {
            case invalidURL, unresolvedHost, cannotConnect, untrusted, timedOut, refused, invalidHandshake,
                outOfResources, cancelled
        }
        private let kind: Kind

        /// The URL isn't `ws://` or `wss://host[:port][/path]`, or a header or subprotocol can't be sent.
        public static let invalidURL = Code(kind: .invalidURL)
        /// The host's name has no address.
        public static let unresolvedHost = Code(kind: .unresolvedHost)
        /// No address of the host accepted the connection, or it was lost before the upgrade.
        public static let cannotConnect = Code(kind: .cannotConnect)
        /// The server's certificate isn't trusted, or belongs to a different host.
        public static let untrusted = Code(kind: .untrusted)
        /// The connect timeout expired.
        public static let timedOut = Code(kind: .timedOut)
        /// The server answered with a status other than 101; see ``WebSocketError/status`` and ``WebSocketError/body``.
        public static let refused = Code(kind: .refused)
        /// The server's response violates the protocol.
        public static let invalidHandshake = Code(kind: .invalidHandshake)
        /// The system is out of descriptors or memory.
        public static let outOfResources = Code(kind: .outOfResources)
        /// The task that was connecting was cancelled.
        public static let cancelled = Code(kind: .cancelled)

        public var description: String { kind.rawValue }
    }

    /// The kind of failure.
    public let code: Code
    /// The message for logs; not stable.
    public let message: String
    /// The HTTP status of a refusal, otherwise `nil`.
    public let status: Int?
    /// The beginning of a refusal's body, at most 16 KiB; empty otherwise.
    public let body: [UInt8]

    package init(_ code: Code, _ message: String, status: Int? = nil, body: [UInt8] = []) {
        self.code = code
        self.message = message
        self.status = status
        self.body = body
    }

    init(_ error: TLSError) {
        let code: Code =
            switch error.code {
            case .untrusted: .untrusted
            case .cannotConnect: .cannotConnect
            case .invalidHost: .invalidURL
            case .outOfResources: .outOfResources
            }
        self.init(code, error.message)
    }

    public var description: String { "\(code): \(message)" }
}
