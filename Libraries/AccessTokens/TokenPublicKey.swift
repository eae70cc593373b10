public import DocumentModel

/// A public P-256 key for verifying tokens, in its published form.
public struct TokenPublicKey: Hashable, Sendable {
    @ExactText public private(set) var id: String
    /// The coordinates, base64url without padding.
    @ExactText public private(set) var x: String
    @ExactText public private(set) var y: String

    /// Reads a JWK; private members are ignored.
    ///
    /// - Throws: `keyInvalid` when it isn't an EC key on P-256 with a `kid`, or when its `alg` or `use` is a different one.
    public init(jwk document: Document) throws(AccessTokenError) {
        guard document["kty"]?.stringValue == "EC", document["crv"]?.stringValue == "P-256" else {
            throw AccessTokenError(.keyInvalid, "not an EC key on P-256")
        }
        guard (document["alg"]?.stringValue ?? "ES256") == "ES256" else {
            throw AccessTokenError(.keyInvalid, "a key for another algorithm than ES256")
        }
        try JWKUse.requireVerifying(document)
        guard let id = document["kid"]?.stringValue, !id.isEmpty, let x = document["x"]?.stringValue,
            let y = document["y"]?.stringValue, Base64URL.decode(x)?.count == 32, Base64URL.decode(y)?.count == 32
        else { throw AccessTokenError(.keyInvalid, "kid, x or y is missing or malformed") }
        self.id = id
        self.x = x
        self.y = y
    }

    init(jwk text: String) throws(AccessTokenError) {
        do {
            try self.init(jwk: ExtendedJSON.parseDocument(text))
        } catch let error as AccessTokenError {
            throw error
        } catch {
            throw AccessTokenError(.keyInvalid, "not JSON")
        }
    }

    /// The JWK to publish (RFC 7517).
    public var jwk: Document {
        [
            "kty": "EC", "crv": "P-256", "x": .string(x), "y": .string(y), "kid": .string(id), "alg": "ES256",
            "use": "sig",
        ]
    }
}

/// A set of public keys, as served at `/.well-known/jwks.json`.
public struct TokenKeySet: Hashable, Sendable {
    public var keys: [TokenPublicKey]

    public init(_ keys: [TokenPublicKey] = []) { self.keys = keys }

    /// Reads a JWKS. Keys of other kinds in it are skipped (RFC 7517 §5).
    ///
    /// - Throws: `keyInvalid` when it isn't a JWKS at all.
    public init(jwks document: Document) throws(AccessTokenError) {
        guard let entries = document["keys"]?.arrayValue else { throw AccessTokenError(.keyInvalid, "not a JWKS") }
        keys = entries.compactMap { entry in
            guard let jwk = entry.documentValue else { return nil }
            return try? TokenPublicKey(jwk: jwk)  // a key of another kind isn't an error
        }
    }

    /// The JWKS to publish.
    public var jwks: Document { ["keys": .array(keys.map { .document($0.jwk) })] }
}
