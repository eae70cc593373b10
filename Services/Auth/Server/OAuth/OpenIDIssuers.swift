import AccessTokens
import AppDefinition
import AppRegistry
import DocumentModel
import HTTPClient
import Logging

/// Checks ID tokens, and exchanges codes for them (OpenID Connect Core 1.0).
struct OpenIDIssuers: Sendable {
    let addresses: IssuerAddresses
    let metadata: PublishedDocuments<IssuerMetadata>
    let keys: PublishedKeys
    let client: IssuerClient

    /// The identifier of an app's issuer.
    func identifier(_ settings: OAuthSettings) throws(AuthError) -> String {
        switch settings.issuer {
        case .google: return addresses.google
        case .apple: return addresses.apple
        case .openIDConnect(let issuer): return issuer.text
        case .facebook: throw AuthError(.badRequest, "Facebook has no ID tokens here: send accessToken")
        }
    }

    /// The metadata of an app's issuer.
    ///
    /// - Throws: what `PublishedDocuments` throws; `IssuerUnavailableError` when they are another issuer's (Discovery §4.3).
    func metadata(of settings: OAuthSettings) async throws -> IssuerMetadata {
        let identifier = try identifier(settings)
        let found = try await metadata.content(at: IssuerMetadata.address(of: identifier))
        guard found.issuer.hasSameBytes(as: identifier) else {
            throw IssuerUnavailableError(message: "the metadata of \(identifier) are those of \(found.issuer)")
        }
        return found
    }

    /// The claims of a valid ID token for the app.
    ///
    /// - Parameter nonce: what the sign-in began with; `nil` where the client began it by itself.
    /// - Throws: `AccessTokenError` with the reason of a refusal; what `metadata(of:)` throws.
    func claims(of token: String, settings: OAuthSettings, nonce: String?, now: Int64) async throws -> Document {
        let found = try await metadata(of: settings)
        // Google's older tokens name it without the scheme.
        let issuers = settings.issuer == .google ? [found.issuer, "accounts.google.com"] : [found.issuer]
        let claims = try await keys.claims(
            of: token, keysAt: found.keySet,
            audience: ForeignTokenVerifier.Audience(settings.audience, isAnyEnough: true), issuers: issuers, now: now)
        if let nonce, claims["nonce"]?.stringValue.map(nonce.hasSameBytes) != true {
            throw AuthError(.authError, "the token is refused: it isn't of this sign-in")
        }
        return claims
    }

    /// The ID token for a code.
    ///
    /// - Parameters:
    ///   - secret: the app's with the issuer, if it has one.
    ///   - redirect: where the code was sent to; empty for a code that the client got by itself.
    ///   - verifier: the code's secret of this sign-in (PKCE, RFC 7636); `nil` for a code that the client got by itself.
    /// - Throws: `authError` when the issuer refuses the code; what `IssuerClient` throws.
    func exchange(
        code: String, settings: OAuthSettings, secret: String?, redirect: String, verifier: String?
    ) async throws -> String {
        let found = try await metadata(of: settings)
        var form = [("grant_type", "authorization_code"), ("code", code), ("redirect_uri", redirect)]
        if let verifier { form.append(("code_verifier", verifier)) }
        var headers: [HTTPClient.Header] = []
        if let secret, !found.takesSecretInForm {
            let pair = PercentEncoding.encode(settings.clientId) + ":" + PercentEncoding.encode(secret)
            headers.append(.init("Authorization", "Basic " + Base64.encode(pair)))
        } else {
            form.append(("client_id", settings.clientId))
            if let secret { form.append(("client_secret", secret)) }
        }
        let answer = try await client.post(form, to: found.tokenEndpoint, headers: headers)
        guard answer.status == 200 else {
            // One of a few words (RFC 6749 §5.2), without a part of the code.
            let reason = answer.document["error"]?.stringValue.map { $0.shortened(to: 64) } ?? "\(answer.status)"
            throw AuthError(.authError, "the identity provider refuses the code: \(reason)")
        }
        guard let token = answer.document["id_token"]?.stringValue else {
            throw AuthError(.authError, "the identity provider gave no ID token: the scope openid is missing")
        }
        return token
    }
}
