/// Why a token or a key is refused.
public struct AccessTokenError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of refusal; raw values are stable and may be logged and counted.
    public enum Code: String, Hashable, Sendable {
        /// Not three parts of base64url with JSON objects inside, or too long.
        case malformed = "token-malformed"
        /// Another algorithm than the key's: `none` too.
        case algorithmRefused = "token-algorithm-refused"
        /// A header that demands what isn't understood (`crit`).
        case headerRefused = "token-header-refused"
        /// No key of that id is known (yet).
        case keyUnknown = "token-key-unknown"
        /// The signature isn't the key's over this token.
        case signatureInvalid = "token-signature-invalid"
        /// Its time is over.
        case expired = "token-expired"
        /// Issued in the future.
        case notYetValid = "token-not-yet-valid"
        /// A claim is missing or of the wrong type.
        case claimInvalid = "token-claim-invalid"
        /// A refresh token where an access token is wanted, or the other way round.
        case typeMismatch = "token-type-mismatch"
        /// A token of another app.
        case appMismatch = "token-app-mismatch"
        /// A foreign token that is meant for somebody else.
        case audienceMismatch = "token-audience-mismatch"
        /// A key of a kind that isn't used, or that can't be read.
        case keyInvalid = "key-invalid"
        /// The cryptographic library failed.
        case cryptographyFailed = "cryptography-failed"
    }

    public let code: Code
    /// For logs; holds nothing of the token.
    public let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { "\(code.rawValue): \(message)" }
}
