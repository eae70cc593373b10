public import DocumentModel

/// A key for verifying tokens of a foreign issuer, such as a developer's own issuer of JWTs.
///
/// It is bound to the algorithms that its kind and its issuer allow, regardless of a token's header.
public struct ForeignTokenKey: Equatable, Sendable {
    private enum Material: Equatable, Sendable {
        case shared([UInt8])
        case published(PublicKey)
    }

    /// The id by which tokens refer to it (`kid`); `nil` for a key without one.
    public let id: String?
    /// The algorithms that its tokens may use.
    public let algorithms: Set<SignatureAlgorithm>
    private let material: Material

    private init(id: String?, algorithms: Set<SignatureAlgorithm>, _ material: Material) {
        self.id = id
        self.algorithms = algorithms
        self.material = material
    }

    /// A shared secret, for HS256.
    ///
    /// - Throws: `keyInvalid` for less than 32 bytes: shorter secrets can be guessed from a token.
    public init(sharedSecret secret: String) throws(AccessTokenError) {
        guard secret.utf8.count >= 32 else {
            throw AccessTokenError(.keyInvalid, "a shared secret must have at least 32 bytes")
        }
        self.init(id: nil, algorithms: [.hs256], .shared(Array(secret.utf8)))
    }

    /// A public key in PEM (`BEGIN PUBLIC KEY` or `BEGIN RSA PUBLIC KEY`), for one algorithm.
    ///
    /// - Throws: `keyInvalid`, also for a key of a kind that doesn't fit the algorithm.
    public init(pem text: String, algorithm: SignatureAlgorithm = .rs256) throws(AccessTokenError) {
        let key = try PublicKey(pem: text)
        guard key.algorithms.contains(algorithm) else {
            throw AccessTokenError(.keyInvalid, "the key isn't one for \(algorithm.rawValue)")
        }
        self.init(id: nil, algorithms: [algorithm], .published(key))
    }

    /// A public key of a JWKS: RSA, EC on P-256, P-384 or P-521, Ed25519 or Ed448. Without `alg`, it is for all algorithms that fit its
    /// kind; otherwise for that one.
    ///
    /// - Throws: `keyInvalid` for another kind or use (``JWKUse``), for an `alg` that doesn't fit, and for a symmetric key, which must
    ///   not be published.
    public init(jwk document: Document) throws(AccessTokenError) {
        try JWKUse.requireVerifying(document)
        func bytes(_ name: String) throws(AccessTokenError) -> [UInt8] {
            guard let bytes = document[name]?.stringValue.flatMap(Base64URL.decode), !bytes.isEmpty else {
                throw AccessTokenError(.keyInvalid, "\(name) is missing or malformed")
            }
            return bytes
        }
        let key: PublicKey
        switch document["kty"]?.stringValue {
        case "RSA": key = try PublicKey(modulus: bytes("n"), exponent: bytes("e"))
        case "EC":
            guard let curve = document["crv"]?.stringValue.flatMap(EllipticCurve.init) else {
                throw AccessTokenError(.keyInvalid, "the curve isn't P-256, P-384 or P-521")
            }
            key = try PublicKey(curve: curve, x: bytes("x"), y: bytes("y"))
        case "OKP": key = try PublicKey(edwards: document["crv"]?.stringValue ?? "", x: bytes("x"))
        default: throw AccessTokenError(.keyInvalid, "not a public key of RSA, EC or OKP")
        }
        var algorithms = key.algorithms
        if let name = document["alg"] {
            guard let algorithm = name.stringValue.flatMap(SignatureAlgorithm.init), algorithms.contains(algorithm)
            else { throw AccessTokenError(.keyInvalid, "alg doesn't fit the key") }
            algorithms = [algorithm]
        }
        self.init(id: document["kid"]?.stringValue, algorithms: algorithms, .published(key))
    }

    /// Returns the keys of a JWKS, or the key of a single JWK. Keys of other kinds are skipped (RFC 7517 §5).
    ///
    /// - Throws: `keyInvalid` when it is neither.
    public static func keys(jwks document: Document) throws(AccessTokenError) -> [ForeignTokenKey] {
        if document["keys"] == nil, document["kty"] != nil { return [try ForeignTokenKey(jwk: document)] }
        guard let entries = document["keys"]?.arrayValue else { throw AccessTokenError(.keyInvalid, "not a JWKS") }
        return entries.compactMap { entry in
            guard let jwk = entry.documentValue else { return nil }
            return try? ForeignTokenKey(jwk: jwk)  // a key of another kind isn't an error
        }
    }

    /// - Throws: `algorithmRefused` for an algorithm that isn't the key's, `signatureInvalid`.
    func verify(_ token: CompactToken) throws(AccessTokenError) {
        guard let algorithm = token.header["alg"]?.stringValue.flatMap(SignatureAlgorithm.init),
            algorithms.contains(algorithm)
        else { throw AccessTokenError(.algorithmRefused, "the algorithm isn't the key's") }
        let isValid =
            switch material {
            case .shared(let secret): SharedSecret.isHMAC(token.signature, of: token.signed, secret: secret)
            case .published(let key): key.verifies(token.signature, of: token.signed, by: algorithm)
            }
        guard isValid else { throw AccessTokenError(.signatureInvalid, "the signature is wrong") }
    }
}
