import AppDefinition
import AppRegistry
import DocumentModel
import Logging

/// What a client shows to sign in with an identity provider.
enum OAuthProof: Sendable {
    case idToken(String)
    case accessToken(String)
    /// A code that the client got by itself.
    case code(String)
    /// A code that the identity provider sent here, at the end of a sign-in by redirects, and what else it said of the user.
    case redirectedCode(String, RedirectRow, given: Document)

    /// - Throws: `missingParameter` when there is none.
    init(_ credentials: Document) throws(AuthError) {
        if credentials["id_token"] != nil {
            self = .idToken(try credentials.requiredString("id_token"))
        } else if credentials["accessToken"] != nil {
            self = .accessToken(try credentials.requiredString("accessToken"))
        } else if credentials["authCode"] != nil {
            self = .code(try credentials.requiredString("authCode"))
        } else {
            throw AuthError(.missingParameter, "id_token, authCode or accessToken is missing")
        }
    }

    /// What attempts are counted by.
    var text: String {
        switch self {
        case .idToken(let text), .accessToken(let text), .code(let text), .redirectedCode(let text, _, _): text
        }
    }
}

/// Finds out who shows a proof, from the identity provider that gave it.
struct OAuthProofs: Sendable {
    let issuers: OpenIDIssuers
    let facebook: FacebookGraph
    let registry: AppRegistry
    let logger: Logger

    /// - Parameter isKnown: whether a user with this id of the provider has signed in before. Apple tells names only once.
    /// - Throws: `authError` with the reason of a refusal; `serviceUnavailable` when the identity provider can't be asked, or the app's
    ///   secret isn't set.
    func identity(
        _ proof: OAuthProof, provider: AuthProvider, settings: OAuthSettings, app: DeployedApp, now: Int64,
        isKnown: (String) async throws -> Bool
    ) async throws -> OAuthIdentity {
        let claims: Document = try await IssuerFailure(app: app, logger: logger).translating {
            try await verifiedClaims(proof, provider: provider, settings: settings, app: app, now: now)
        }
        guard settings.issuer == .apple, let subject = claims["sub"]?.stringValue else {
            return try OAuthIdentity(claims, provider: provider)
        }
        if try await isKnown(subject) { return try OAuthIdentity(claims, provider: provider, requiresAll: false) }
        var given = Document()
        if case .redirectedCode(_, _, let document) = proof { given = document }
        return try OAuthIdentity(claims, given: given, provider: provider)
    }

    private func verifiedClaims(
        _ proof: OAuthProof, provider: AuthProvider, settings: OAuthSettings, app: DeployedApp, now: Int64
    ) async throws -> Document {
        if settings.issuer == .facebook {
            let secret = try await requiredSecret(settings, app)
            let token =
                switch proof {
                case .accessToken(let token): token
                case .redirectedCode(let code, let begun, _):
                    try await facebook.exchange(
                        code: code, settings: settings, secret: secret, redirect: begun.callback,
                        verifier: begun.verifier)
                case .idToken, .code: throw AuthError(.missingParameter, "accessToken is missing")
                }
            return try await facebook.claims(
                of: token, settings: settings, secret: secret, fields: provider.metadataFields.compactMap(\.path.first))
        }
        switch proof {
        case .accessToken: throw AuthError(.missingParameter, "id_token or authCode is missing")
        case .idToken(let token): return try await issuers.claims(of: token, settings: settings, nonce: nil, now: now)
        case .code(let code):
            let token = try await issuers.exchange(
                code: code, settings: settings, secret: try await secret(settings, app), redirect: "", verifier: nil)
            return try await issuers.claims(of: token, settings: settings, nonce: nil, now: now)
        case .redirectedCode(let code, let begun, _):
            let token = try await issuers.exchange(
                code: code, settings: settings, secret: try await secret(settings, app), redirect: begun.callback,
                verifier: begun.verifier)
            return try await issuers.claims(of: token, settings: settings, nonce: begun.nonce, now: now)
        }
    }

    private func requiredSecret(_ settings: OAuthSettings, _ app: DeployedApp) async throws -> String {
        guard let secret = try await secret(settings, app) else {
            throw AuthError(.authError, "the app has no clientSecret for this identity provider")
        }
        return secret
    }

    /// The app's secret with the identity provider; `nil` where the export names none.
    private func secret(_ settings: OAuthSettings, _ app: DeployedApp) async throws -> String? {
        guard let name = settings.clientSecret else { return nil }
        guard let secret = try await registry.secrets(of: app.id)[name] else {
            logger.error("a client secret isn't set", metadata: ["app": "\(app.id)", "secret": "\(name)"])
            throw AuthError(.serviceUnavailable, "the app's secret for this identity provider isn't set")
        }
        return secret
    }
}
