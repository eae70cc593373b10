/// Why TLS could not begin.
package struct TLSError: Error {
    /// The kind of failure.
    package enum Code: Sendable {
        /// The certificate isn't trusted or is another host's, or a file of certificates can't be read.
        case untrusted
        /// The connection was lost, or the other side doesn't speak TLS.
        case cannotConnect
        /// The host can't be the name in a certificate.
        case invalidHost
        /// There is no memory.
        case outOfResources
    }

    /// The kind of failure.
    package let code: Code
    /// For people who read logs; not stable.
    package let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}
