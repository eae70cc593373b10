public import DocumentModel

/// Verifies tokens of a foreign issuer (RFC 7519).
public struct ForeignTokenVerifier: Sendable {
    /// The audience that a token must have.
    public struct Audience: Hashable, Sendable {
        /// The names that are expected in the claim `aud`.
        public var names: [String]
        /// Whether one of the names suffices; otherwise all are required.
        public var isAnyEnough: Bool

        public init(_ names: [String], isAnyEnough: Bool = false) {
            self.names = names
            self.isAnyEnough = isAnyEnough
        }
    }

    /// How far the clocks of issuers may differ from this machine's, in seconds.
    public static let leeway: Int64 = 60

    private let keys: [ForeignTokenKey]
    private let audience: Audience
    private let needsKeyId: Bool

    /// - Parameter needsKeyId: whether a token must name its key, which is required for published key sets.
    public init(keys: [ForeignTokenKey], audience: Audience, needsKeyId: Bool) {
        self.keys = keys
        self.audience = audience
        self.needsKeyId = needsKeyId
    }

    /// Whether the keys include the one that a token names. If not, it may be in a newer key set.
    public func knowsKey(of token: String) throws(AccessTokenError) -> Bool {
        let compact = try CompactToken(token)
        return !candidates(for: compact).isEmpty
    }

    /// Verifies a token.
    ///
    /// - Parameter now: seconds since 1970.
    /// - Returns: its claims, including a non-empty `sub`.
    /// - Throws: `AccessTokenError` with the reason.
    public func verify(_ token: String, now: Int64) throws(AccessTokenError) -> Document {
        let compact = try CompactToken(token)
        let candidates = candidates(for: compact)
        guard !candidates.isEmpty else { throw AccessTokenError(.keyUnknown, "the key isn't known") }
        var refusal = AccessTokenError(.algorithmRefused, "no key has the token's algorithm")
        for key in candidates {
            do {
                return try check(payload(of: compact, key), now: now)
            } catch  where error.code == .algorithmRefused || error.code == .signatureInvalid {
                refusal = error
            }
        }
        throw refusal
    }

    private func candidates(for token: CompactToken) -> [ForeignTokenKey] {
        guard let id = token.header["kid"]?.stringValue else { return needsKeyId ? [] : keys }
        // Keys that were configured directly have no id, so they match any id.
        return keys.filter { $0.id.map(id.hasSameBytes) == true || ($0.id == nil && !needsKeyId) }
    }

    private func payload(of token: CompactToken, _ key: ForeignTokenKey) throws(AccessTokenError) -> Document {
        try token.require(algorithm: key.algorithm.rawValue)
        guard token.signatureBytes == key.signatureBytes else {
            throw AccessTokenError(.signatureInvalid, "the signature is wrong")
        }
        let payload = try JWKHandle(json: key.jwk).verifiedPayload(of: token.text)
        guard let claims = try? ExtendedJSON.parseDocument(payload) else {
            throw AccessTokenError(.malformed, "the claims aren't a JSON object")
        }
        return claims
    }

    private func check(_ claims: Document, now: Int64) throws(AccessTokenError) -> Document {
        guard let subject = claims["sub"]?.stringValue, !subject.isEmpty, subject.utf8.count <= 1024,
            !subject.utf8.contains(0)
        else { throw AccessTokenError(.claimInvalid, "sub is missing, empty or too long") }
        guard let expiry = try seconds("exp", claims) else { throw AccessTokenError(.claimInvalid, "exp is missing") }
        guard now < expiry else { throw AccessTokenError(.expired, "expired") }
        for name in ["nbf", "iat"] {
            if let time = try seconds(name, claims), time > now + Self.leeway {
                throw AccessTokenError(.notYetValid, "\(name) is in the future")
            }
        }
        let named: Set<ExactText> =
            switch claims["aud"] {
            case .string(let name)?: [ExactText(name)]
            case .array(let names)?: Set(texts: names.compactMap(\.stringValue))
            default: []
            }
        // Without any configured name, no token matches.
        let isMeant =
            audience.isAnyEnough || audience.names.isEmpty
            ? audience.names.contains { named.contains($0) } : audience.names.allSatisfy { named.contains($0) }
        guard isMeant else { throw AccessTokenError(.audienceMismatch, "a token for another audience") }
        return claims
    }

    /// A NumericDate, which may have a fraction.
    private func seconds(_ name: String, _ claims: Document) throws(AccessTokenError) -> Int64? {
        switch claims[name] {
        case nil: return nil
        case let value?:
            if let whole = value.int64Value { return whole }
            if case .double(let number) = value, let whole = Int64(exactly: number.rounded(.down)) { return whole }
            throw AccessTokenError(.claimInvalid, "\(name) must be a time")
        }
    }
}
