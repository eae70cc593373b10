public import DocumentModel

/// A key for verifying tokens of a foreign issuer, such as a developer's own issuer of JWTs.
///
/// It is bound to one algorithm, regardless of a token's header.
public struct ForeignTokenKey: Hashable, Sendable {
    /// The algorithm of a key.
    public enum Algorithm: String, Hashable, Sendable {
        /// HMAC with SHA-256: the key that verifies can also sign.
        case hs256 = "HS256"
        /// RSA PKCS #1 v1.5 with SHA-256.
        case rs256 = "RS256"
        /// ECDSA on P-256 with SHA-256.
        case es256 = "ES256"
    }

    /// The id by which tokens refer to it (`kid`); `nil` for a key that was configured directly.
    public let id: String?
    /// The only algorithm that its tokens may use.
    public let algorithm: Algorithm
    /// The length of its signatures in bytes.
    let signatureBytes: Int
    /// The checked JWK for the JOSE library.
    let jwk: String

    private init(id: String?, algorithm: Algorithm, signatureBytes: Int, members: Document) {
        self.id = id
        self.algorithm = algorithm
        self.signatureBytes = signatureBytes
        jwk = ExtendedJSON.print(members, mode: .relaxed)
    }

    /// A shared secret, for HS256.
    ///
    /// - Throws: `keyInvalid` for less than 32 bytes: shorter secrets can be guessed from a token.
    public init(sharedSecret secret: String) throws(AccessTokenError) {
        guard secret.utf8.count >= 32 else {
            throw AccessTokenError(.keyInvalid, "a shared secret must have at least 32 bytes")
        }
        self.init(
            id: nil, algorithm: .hs256, signatureBytes: 32,
            members: ["kty": "oct", "k": .string(Base64URL.encode(secret.utf8))])
    }

    /// An RSA public key in PEM (`BEGIN PUBLIC KEY` or `BEGIN RSA PUBLIC KEY`), for RS256.
    ///
    /// - Throws: `keyInvalid`.
    public init(pem text: String) throws(AccessTokenError) {
        let key = try RSAPublicKey(pem: text)
        self = try Self.rsa(key, id: nil)
    }

    /// A public key of a JWKS: RSA (RS256) or EC on P-256 (ES256).
    ///
    /// - Throws: `keyInvalid` for another kind or use (``JWKUse``), and for a symmetric key, which must not be published.
    public init(jwk document: Document) throws(AccessTokenError) {
        let id = document["kid"]?.stringValue
        try JWKUse.requireVerifying(document)
        switch (document["kty"]?.stringValue, document["alg"]?.stringValue) {
        case ("RSA", nil), ("RSA", "RS256"):
            guard let n = document["n"]?.stringValue.flatMap(Base64URL.decode),
                let e = document["e"]?.stringValue.flatMap(Base64URL.decode)
            else { throw AccessTokenError(.keyInvalid, "n or e is missing or malformed") }
            self = try Self.rsa(RSAPublicKey(modulus: n, exponent: e), id: id)
        case ("EC", nil), ("EC", "ES256"):
            // An id isn't required here, only by `TokenPublicKey`.
            var named = document
            named["kid"] = .string(id ?? "-")
            let key = try TokenPublicKey(jwk: named)
            self.init(
                id: id, algorithm: .es256, signatureBytes: 64,
                members: ["kty": "EC", "crv": "P-256", "x": .string(key.x), "y": .string(key.y)])
        default: throw AccessTokenError(.keyInvalid, "neither an RS256 nor an ES256 key")
        }
    }

    private static func rsa(_ key: RSAPublicKey, id: String?) throws(AccessTokenError) -> ForeignTokenKey {
        ForeignTokenKey(
            id: id, algorithm: .rs256, signatureBytes: key.modulus.count,
            members: [
                "kty": "RSA", "n": .string(Base64URL.encode(key.modulus)), "e": .string(Base64URL.encode(key.exponent)),
            ])
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
}
