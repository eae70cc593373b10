/// Why a token or a key is refused.
public struct AccessTokenError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of refusal; raw values are stable and may be logged and counted.
    public enum Code: String, Hashable, Sendable {
        /// Not three parts of base64url with JSON objects inside, or too long.
        case malformed = "token-malformed"
        /// A different algorithm than the key's, including `none`.
        case algorithmRefused = "token-algorithm-refused"
        /// A header that requires an extension that isn't supported (`crit`).
        case headerRefused = "token-header-refused"
        /// No key with that id is known (yet).
        case keyUnknown = "token-key-unknown"
        /// The signature doesn't match the key and the token.
        case signatureInvalid = "token-signature-invalid"
        /// It has expired.
        case expired = "token-expired"
        /// It was issued in the future.
        case notYetValid = "token-not-yet-valid"
        /// A claim is missing or of the wrong type.
        case claimInvalid = "token-claim-invalid"
        /// A refresh token where an access token is expected, or vice versa.
        case typeMismatch = "token-type-mismatch"
        /// A token of another app.
        case appMismatch = "token-app-mismatch"
        /// A foreign token for a different audience.
        case audienceMismatch = "token-audience-mismatch"
        /// A foreign token of a different issuer.
        case issuerMismatch = "token-issuer-mismatch"
        /// A key of an unsupported kind, or one that can't be read.
        case keyInvalid = "key-invalid"
        /// The cryptographic library failed.
        case cryptographyFailed = "cryptography-failed"
    }

    public let code: Code
    /// The message for logs; contains no part of the token.
    public let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { "\(code.rawValue): \(message)" }
}
