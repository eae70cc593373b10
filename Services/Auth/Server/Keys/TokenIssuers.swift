import AccessTokens
import AppDefinition
import AppRegistry
import DocumentModel
import Logging

/// Checks the tokens of developers' own issuers with the keys that their apps name.
struct TokenIssuers: Sendable {
    let registry: AppRegistry
    let published: PublishedKeys
    let logger: Logger

    /// The claims of a valid token.
    ///
    /// - Throws: `authError` with the reason; `serviceUnavailable` when the keys can't be fetched.
    func claims(
        of token: String, settings: CustomTokenSettings, app: DeployedApp, now: Int64
    ) async throws -> Document {
        let audience = ForeignTokenVerifier.Audience(
            settings.audience.isEmpty ? [app.id] : settings.audience, isAnyEnough: settings.isAnyAudienceEnough)
        return try await IssuerFailure(app: app, logger: logger).translating {
            switch settings.keys {
            case .secrets(let names, let algorithm):
                try ForeignTokenVerifier(
                    keys: try await keys(in: names, algorithm: algorithm, app: app), audience: audience,
                    arePublished: false
                ).verify(token, now: now)
            case .published(let url):
                try await published.claims(of: token, keysAt: url, audience: audience, now: now)
            }
        }
    }

    private func keys(in names: [String], algorithm: String, app: DeployedApp) async throws -> [ForeignTokenKey] {
        guard let algorithm = SignatureAlgorithm(rawValue: algorithm) else {
            throw AuthError(.authError, "the app's signingAlgorithm isn't supported")
        }
        let secrets = try await registry.secrets(of: app.id)
        let keys = names.compactMap { name -> ForeignTokenKey? in
            guard let text = secrets[name] else {
                logger.error("a signing key's secret isn't set", metadata: ["app": "\(app.id)", "secret": "\(name)"])
                return nil
            }
            do {
                return algorithm == .hs256
                    ? try ForeignTokenKey(sharedSecret: text) : try ForeignTokenKey(pem: text, algorithm: algorithm)
            } catch {
                logger.error(
                    "a signing key can't be used",
                    metadata: ["app": "\(app.id)", "secret": "\(name)", "error": "\(error)"])
                return nil
            }
        }
        guard !keys.isEmpty else {
            throw AuthError(.serviceUnavailable, "the app has no key to check the token with")
        }
        return keys
    }
}
