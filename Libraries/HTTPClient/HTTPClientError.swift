/// Why a request got no answer, or a mail wasn't taken.
public struct HTTPClientError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What kind of error it is.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Value: String {
            case invalidRequest, refused, resolve, connect, tls, timeout, tooLarge, tooManyRedirects, connectionLost,
                protocolError
            case authentication, deferred, rejected, overloaded, closed, failed
        }
        private let value: Value

        /// The request can't be sent as it is: its URL, method, a header or an address is malformed.
        public static let invalidRequest = Code(value: .invalidRequest)
        /// The client's egress policy refuses the address.
        public static let refused = Code(value: .refused)
        /// The host's name has no address.
        public static let resolve = Code(value: .resolve)
        /// Nobody takes connections at the address.
        public static let connect = Code(value: .connect)
        /// The TLS handshake failed, or the certificate isn't to be trusted.
        public static let tls = Code(value: .tls)
        /// The time was over.
        public static let timeout = Code(value: .timeout)
        /// The response is larger than allowed.
        public static let tooLarge = Code(value: .tooLarge)
        /// More redirects than allowed.
        public static let tooManyRedirects = Code(value: .tooManyRedirects)
        /// The connection broke while it was in use; whether the other side did what was asked is unknown.
        public static let connectionLost = Code(value: .connectionLost)
        /// The other side doesn't speak the protocol.
        public static let protocolError = Code(value: .protocolError)
        /// The mail server refused the name or password.
        public static let authentication = Code(value: .authentication)
        /// The mail server doesn't take the mail now, and may take it later.
        public static let deferred = Code(value: .deferred)
        /// The mail server refused the sender, a recipient or the message for good.
        public static let rejected = Code(value: .rejected)
        /// Too many requests are on their way already.
        public static let overloaded = Code(value: .overloaded)
        /// The client was shut down.
        public static let closed = Code(value: .closed)
        /// Anything else; the message says what.
        public static let failed = Code(value: .failed)

        /// The code's name, stable.
        public var description: String { value.rawValue }
    }

    /// What kind of error it is.
    public let code: Code
    /// What happened. Holds no URL, because those may carry secrets.
    public let message: String
    /// libcurl's number of the error, 0 when it comes from elsewhere.
    public let curlCode: Int

    /// Without the address: what a name of a private network resolves to is nothing for who made the URL.
    static let egressRefused = HTTPClientError(
        .refused, "the address isn't of the public internet, and the operator's setting egress.allow doesn't name it")
    static let shutDown = HTTPClientError(.closed, "the client was shut down")

    init(_ code: Code, _ message: String, curlCode: Int = 0) {
        self.code = code
        self.message = message
        self.curlCode = curlCode
    }

    /// Whether the same request may work later. Doesn't say that it is safe to send it twice.
    public var isRetriable: Bool {
        [.resolve, .connect, .timeout, .connectionLost, .overloaded, .deferred].contains(code)
    }

    /// The code and the message.
    public var description: String { "\(code): \(message)" }
}
