import DocumentModel
import Foundation

/// Verifies tokens with a set of public keys that can be replaced at any time. Safe to use from several threads.
///
/// The algorithm is always ES256; a token whose header names another one is refused.
///
/// `@unchecked Sendable`: the key table is accessed only under the lock, and the keys themselves are `Sendable`.
public final class TokenVerifier: @unchecked Sendable {
    /// The size of the longest accepted token, in bytes.
    public static let maximumTokenBytes = CompactToken.maximumBytes
    /// How far in the future a token may have been issued, in seconds, since clocks of machines differ.
    public static let issueLeeway: Int64 = 60

    private let lock = NSLock()
    private var table: [ExactText: VerificationKey] = [:] {
        didSet { (recent, former) = ([:], [:]) }
    }
    /// The claims of tokens that a key of the table has signed: a client sends the same token with each of its requests, and to verify
    /// a signature takes longer than most of the rest of a request.
    private var recent: [ExactText: TokenClaims] = [:]
    private var former: [ExactText: TokenClaims] = [:]
    /// The most tokens in each of the two.
    private static let kept = 1000

    public init(keys: TokenKeySet = TokenKeySet()) throws(AccessTokenError) { try replaceKeys(keys) }

    /// The keys in use.
    public var keys: TokenKeySet {
        lock.withLock { TokenKeySet(table.values.map(\.publicKey).sorted { ByteOrder.compare($0.id, $1.id) < 0 }) }
    }

    /// Replaces all keys.
    ///
    /// - Throws: `keyInvalid` for a key whose point isn't on the curve; the keys are unchanged then.
    public func replaceKeys(_ keys: TokenKeySet) throws(AccessTokenError) {
        let known = lock.withLock { self.table }
        var replacement: [ExactText: VerificationKey] = [:]
        for key in keys.keys {
            if let same = known[key.id], same.publicKey == key {
                replacement[key.id] = same
            } else {
                replacement[key.id] = try VerificationKey(key)
            }
        }
        let table = replacement
        lock.withLock { self.table = table }
    }

    /// Adds a key, or replaces the one with its id.
    public func add(_ key: TokenPublicKey) throws(AccessTokenError) {
        let added = try VerificationKey(key)
        lock.withLock { table[key.id] = added }
    }

    /// Removes a key; its tokens are refused from now on.
    public func removeKey(id: String) { lock.withLock { table[id] = nil } }

    /// Verifies a token and returns its claims.
    ///
    /// - Parameters:
    ///   - type: the required type of the token.
    ///   - app: the app that it must belong to; `nil` accepts the token's own (signed) claim.
    ///   - now: seconds since 1970.
    /// - Throws: `AccessTokenError` with the reason.
    public func verify(
        _ token: String, as type: TokenClaims.TokenType = .access, app: String? = nil, now: Int64
    ) throws(AccessTokenError) -> TokenClaims {
        let claims = try signedClaims(of: token)
        guard claims.type == type else {
            throw AccessTokenError(.typeMismatch, "a token of type \(claims.type.rawValue)")
        }
        guard app == nil || app.map(claims.app.hasSameBytes) == true else {
            throw AccessTokenError(.appMismatch, "a token of another app")
        }
        guard claims.issuedAt <= now + Self.issueLeeway else {
            throw AccessTokenError(.notYetValid, "issued in the future")
        }
        guard now < claims.expiresAt else { throw AccessTokenError(.expired, "expired") }
        return claims
    }

    /// The claims of a token that one of the keys has signed, whatever they say.
    private func signedClaims(of token: String) throws(AccessTokenError) -> TokenClaims {
        let text = ExactText(token)
        if let known = lock.withLock({ recent[text] ?? former[text] }) { return known }
        let compact = try CompactToken(token)
        try compact.require(algorithm: "ES256")
        guard compact.signature.count == 64 else { throw AccessTokenError(.signatureInvalid, "the signature is wrong") }
        guard let id = compact.header["kid"]?.stringValue, let key = lock.withLock({ table[id] }) else {
            throw AccessTokenError(.keyUnknown, "the key isn't known")
        }
        let payload = try key.verifiedPayload(of: token)
        guard let document = try? ExtendedJSON.parseDocument(payload) else {
            throw AccessTokenError(.malformed, "the claims aren't a JSON object")
        }
        let claims = try TokenClaims(document)
        lock.withLock {
            // Not if the key was removed meanwhile.
            guard table[id] === key else { return }
            if recent.count >= Self.kept { (recent, former) = ([:], recent) }
            recent[text] = claims
        }
        return claims
    }
}
