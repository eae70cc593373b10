/// An algorithm of signatures (RFC 7518 §3.1, RFC 8037 §3.1). There is no `none`.
public enum SignatureAlgorithm: String, CaseIterable, Hashable, Sendable {
    /// HMAC with SHA-256: the key that verifies can also sign.
    case hs256 = "HS256"
    /// RSA PKCS #1 v1.5.
    case rs256 = "RS256"
    case rs384 = "RS384"
    case rs512 = "RS512"
    /// RSA-PSS, with a salt as long as the digest.
    case ps256 = "PS256"
    case ps384 = "PS384"
    case ps512 = "PS512"
    /// ECDSA on P-256, P-384 and P-521.
    case es256 = "ES256"
    case es384 = "ES384"
    case es512 = "ES512"
    /// Ed25519 or Ed448, as the key is.
    case edDSA = "EdDSA"

    /// Those of any RSA key.
    static let rsa: Set<SignatureAlgorithm> = [.rs256, .rs384, .rs512, .ps256, .ps384, .ps512]

    /// The digest by OpenSSL's name; `nil` where the algorithm has its own.
    var digest: String? {
        switch self {
        case .hs256, .rs256, .ps256, .es256: "SHA256"
        case .rs384, .ps384, .es384: "SHA384"
        case .rs512, .ps512, .es512: "SHA512"
        case .edDSA: nil
        }
    }

    /// Whether signatures are padded by RSA-PSS.
    var isPSS: Bool { [.ps256, .ps384, .ps512].contains(self) }

    /// The bytes of one of the two numbers of an ECDSA signature; `nil` for other algorithms.
    var ecdsaNumberBytes: Int? {
        switch self {
        case .es256: 32
        case .es384: 48
        case .es512: 66
        default: nil
        }
    }
}
