import DocumentModel

/// A private P-256 key that signs tokens with ES256. Safe to use from several threads.
public final class TokenSigningKey: Sendable {
    private let handle: JWKHandle
    /// The key's id, which every token names.
    public let id: String
    /// The key for verifying its tokens.
    public let publicKey: TokenPublicKey

    private init(handle: JWKHandle, id: String) throws(AccessTokenError) {
        self.handle = handle
        self.id = id
        publicKey = try TokenPublicKey(jwk: handle.json(isPrivate: false))
    }

    /// Generates a key.
    ///
    /// - Parameter id: must be unique; it becomes part of each token.
    public convenience init(generatingWithId id: String) throws(AccessTokenError) {
        try self.init(handle: JWKHandle(generatingP256WithId: id), id: id)
    }

    /// Reads a key from its stored form.
    public convenience init(privateJWK text: String) throws(AccessTokenError) {
        // Only checked input is passed to the library: see `CompactToken`.
        let publicKey = try TokenPublicKey(jwk: text)
        guard let document = try? ExtendedJSON.parseDocument(text), let secret = document["d"]?.stringValue,
            Base64URL.decode(secret)?.count == 32
        else { throw AccessTokenError(.keyInvalid, "the secret part is missing or malformed") }
        try self.init(handle: JWKHandle(json: text), id: publicKey.id)
    }

    /// The stored form: a JWK with its secret part. Never log it, never publish it.
    public func privateJWK() throws(AccessTokenError) -> String { try handle.json(isPrivate: true) }

    /// Signs a claims set.
    ///
    /// - Returns: the token in its compact form.
    public func sign(_ claims: TokenClaims) throws(AccessTokenError) -> String {
        try handle.sign(claims.json, keyId: id)
    }
}
