import AccessTokens
import DocumentModel
import Foundation

/// A key, a verifier that knows it, and tokens to try on it.
struct TokenFixture {
    static let now: Int64 = 1_800_000_000

    let key: TokenSigningKey
    let verifier: TokenVerifier

    init(id: String = "key-1") throws {
        key = try TokenSigningKey(generatingWithId: id)
        verifier = try TokenVerifier(keys: TokenKeySet([key.publicKey]))
    }

    static func claims(
        type: TokenClaims.TokenType = .access, app: String = "rchat", issuedAt: Int64 = now, lifetime: Int64 = 1800
    ) -> TokenClaims {
        TokenClaims(
            session: "65a000000000000000000001", user: "65a000000000000000000002", device: "65a000000000000000000003",
            app: app, type: type, issuedAt: issuedAt, expiresAt: issuedAt + lifetime)
    }

    /// A token whose header and payload are these texts, with the signature of another one.
    static func forged(header: String, payload: String? = nil, from token: String) -> String {
        var parts = token.split(separator: ".").map(String.init)
        parts[0] = base64URL(header)
        if let payload { parts[1] = base64URL(payload) }
        return parts.joined(separator: ".")
    }

    static func base64URL(_ text: String) -> String {
        Data(text.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing(
            "=", with: "")
    }

    static func payload(of token: String) throws -> Document {
        var text = String(token.split(separator: ".")[1]).replacing("-", with: "+").replacing("_", with: "/")
        while text.utf8.count % 4 != 0 { text += "=" }
        guard let data = Data(base64Encoded: text) else { throw CocoaError(.coderInvalidValue) }
        return try ExtendedJSON.parseDocument(Array(data))
    }

    /// The code with which a token is refused, `nil` when it is accepted.
    func refusal(
        of token: String, as type: TokenClaims.TokenType = .access, app: String? = nil, now: Int64 = now
    ) -> AccessTokenError.Code? {
        do throws(AccessTokenError) {
            _ = try verifier.verify(token, as: type, app: app, now: now)
            return nil
        } catch {
            return error.code
        }
    }
}
