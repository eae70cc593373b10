/// Why a request got no response, or a mail wasn't accepted.
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
        /// The connection to the address failed.
        public static let connect = Code(value: .connect)
        /// The TLS handshake failed, or the certificate isn't trusted.
        public static let tls = Code(value: .tls)
        /// The time limit was exceeded.
        public static let timeout = Code(value: .timeout)
        /// The response is larger than allowed.
        public static let tooLarge = Code(value: .tooLarge)
        /// More redirects than allowed.
        public static let tooManyRedirects = Code(value: .tooManyRedirects)
        /// The connection broke while it was in use; whether the server processed the request is unknown.
        public static let connectionLost = Code(value: .connectionLost)
        /// The server violated the protocol.
        public static let protocolError = Code(value: .protocolError)
        /// The mail server refused the name or password, or demands them.
        public static let authentication = Code(value: .authentication)
        /// The mail server refused the mail temporarily.
        public static let deferred = Code(value: .deferred)
        /// The mail server refused the sender, a recipient or the message permanently.
        public static let rejected = Code(value: .rejected)
        /// Too many requests are in flight.
        public static let overloaded = Code(value: .overloaded)
        /// The client was shut down.
        public static let closed = Code(value: .closed)
        /// Any other error, which the message describes.
        public static let failed = Code(value: .failed)

        /// The code's name, stable.
        public var description: String { value.rawValue }
    }

    /// What kind of error it is.
    public let code: Code
    /// The description of the error. It contains no URL, because URLs may contain secrets.
    public let message: String
    /// libcurl's number of the error; 0 if it isn't an error of libcurl.
    public let curlCode: Int

    /// The message doesn't contain the address, so that the author of the URL doesn't learn what a name of a private network
    /// resolves to.
    static let egressRefused = HTTPClientError(
        .refused, "the address isn't of the public internet, and the operator's setting egress.allow doesn't name it")
    static let shutDown = HTTPClientError(.closed, "the client was shut down")

    init(_ code: Code, _ message: String, curlCode: Int = 0) {
        self.code = code
        self.message = message
        self.curlCode = curlCode
    }

    /// Whether the same request may succeed later. It doesn't mean that sending it twice is safe.
    public var isRetriable: Bool {
        [.resolve, .connect, .timeout, .connectionLost, .overloaded, .deferred].contains(code)
    }

    /// The code and the message.
    public var description: String { "\(code): \(message)" }
}
