/// Why a TLS connection could not be established.
package struct TLSError: Error {
    /// The kind of failure.
    package enum Code: Sendable {
        /// The certificate isn't trusted or belongs to a different host, or a file of certificates can't be read.
        case untrusted
        /// The connection was lost, or the server doesn't support TLS.
        case cannotConnect
        /// The host can't be the name in a certificate.
        case invalidHost
        /// Memory can't be allocated.
        case outOfResources
    }

    /// The kind of failure.
    package let code: Code
    /// The message for logs; not stable.
    package let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}
