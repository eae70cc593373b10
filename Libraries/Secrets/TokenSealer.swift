import Foundation

/// Encrypts what clients keep for a service and give back later: they can neither read nor change it.
public struct TokenSealer: Sendable {
    /// The first one encrypts, and all of them decrypt.
    private let keys: [[UInt8]]

    /// - Parameters:
    ///   - ring: the keys from which those of the tokens are derived. Without any, a random key is used, so that only this sealer can open
    ///     its tokens.
    ///   - purpose: what the tokens are for. Tokens for another purpose can't be opened.
    public init(_ ring: KeyRing, purpose: String) {
        let derived = ring.derived("partita.tokens/\(purpose)/")
        keys = derived.isEmpty ? [SecretBox.randomKey()] : derived
    }

    /// The token of some bytes, in Base64. It differs each time.
    public func seal(_ bytes: [UInt8]) -> String {
        Data(SecretBox.seal(bytes, key: keys[0])).base64EncodedString()
    }

    /// The bytes of a token; `nil` for what isn't a result of `seal` with one of the keys.
    public func open(_ token: String) -> [UInt8]? {
        guard let sealed = Data(base64Encoded: token) else { return nil }
        return keys.lazy.compactMap { SecretBox.open(Array(sealed), key: $0) }.first
    }
}
