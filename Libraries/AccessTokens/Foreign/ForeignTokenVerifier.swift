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
    private let issuers: Set<ExactText>?
    private let arePublished: Bool

    /// - Parameters:
    ///   - issuers: the values of `iss` that are accepted, compared by bytes; `nil` accepts every one, since the keys are the issuer's alone.
    ///   - arePublished: whether the keys are a published set. A token must name its key then, unless the set has only one.
    public init(keys: [ForeignTokenKey], audience: Audience, issuers: [String]? = nil, arePublished: Bool) {
        self.keys = keys
        self.audience = audience
        self.issuers = issuers.map { Set(texts: $0) }
        self.arePublished = arePublished
    }

    /// How the keys were found that a token may be signed with.
    public enum Match: Sendable {
        /// By the id that it names, or because the keys were configured.
        case certain
        /// Because there is only one key: it may have been replaced by another one.
        case guessed
        /// No key has the id that it names. It may be in a newer key set.
        case none
    }

    /// How the keys match the one that a token names.
    public func match(of token: String) throws(AccessTokenError) -> Match {
        candidates(for: try CompactToken(token)).match
    }

    /// Verifies a token.
    ///
    /// - Parameter now: seconds since 1970.
    /// - Returns: its claims, including a non-empty `sub`.
    /// - Throws: `AccessTokenError` with the reason.
    public func verify(_ token: String, now: Int64) throws(AccessTokenError) -> Document {
        let compact = try CompactToken(token)
        let candidates = candidates(for: compact).keys
        guard !candidates.isEmpty else { throw AccessTokenError(.keyUnknown, "the key isn't known") }
        var refusal = AccessTokenError(.algorithmRefused, "no key has the token's algorithm")
        for key in candidates {
            do throws(AccessTokenError) {
                try key.verify(compact)
            } catch {
                // A wrong signature says more than a key of another kind.
                if refusal.code == .algorithmRefused { refusal = error }
                continue
            }
            guard let claims = try? ExtendedJSON.parseDocument(compact.payload) else {
                throw AccessTokenError(.malformed, "the claims aren't a JSON object")
            }
            return try check(claims, now: now)
        }
        throw refusal
    }

    private func candidates(for token: CompactToken) -> (keys: [ForeignTokenKey], match: Match) {
        guard arePublished else { return (keys, .certain) }
        let id = token.header["kid"]?.stringValue
        if let id {
            let named = keys.filter { $0.id.map(id.hasSameBytes) == true }
            if !named.isEmpty { return (named, .certain) }
        }
        // OpenID Connect Core §10.1: only where there are several keys must a token name one.
        guard keys.count == 1, id == nil || keys[0].id == nil else { return ([], .none) }
        return (keys, .guessed)
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
        if let issuers {
            guard let issuer = claims["iss"]?.stringValue, issuers.contains(issuer) else {
                throw AccessTokenError(.issuerMismatch, "a token of another issuer")
            }
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
