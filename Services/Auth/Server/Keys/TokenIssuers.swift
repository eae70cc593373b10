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
        do {
            let verifier =
                switch settings.keys {
                case .secrets(let names, let algorithm):
                    ForeignTokenVerifier(
                        keys: try await keys(in: names, algorithm: algorithm, app: app), audience: audience,
                        needsKeyId: false)
                case .published(let url):
                    try await verifier(url: url, audience: audience, token: token, app: app)
                }
            return try verifier.verify(token, now: now)
        } catch let error as AccessTokenError {
            throw AuthError(.authError, "the token is refused: \(error.code.rawValue)")
        }
    }

    /// Uses the cached set, and a newer one when the token names a key that isn't in it.
    private func verifier(
        url: String, audience: ForeignTokenVerifier.Audience, token: String, app: DeployedApp
    ) async throws -> ForeignTokenVerifier {
        func make(_ keys: [ForeignTokenKey]) -> ForeignTokenVerifier {
            ForeignTokenVerifier(keys: keys, audience: audience, needsKeyId: true)
        }
        do {
            let verifier = make(try await published.keys(at: url))
            if try verifier.knowsKey(of: token) { return verifier }
            return make(try await published.keys(at: url, isNewerWanted: true))
        } catch let error as PlainKeySetError {
            logger.error("an issuer's keys aren't fetched", metadata: ["app": "\(app.id)", "error": "\(error)"])
            throw AuthError(.authError, "the token is refused: the app's jwkURI is not https")
        } catch let error as PublishedKeysError {
            logger.warning("an issuer's keys can't be had", metadata: ["app": "\(app.id)", "error": "\(error)"])
            throw AuthError(.serviceUnavailable, "the issuer's keys can't be had now; try again later")
        }
    }

    private func keys(in names: [String], algorithm: String, app: DeployedApp) async throws -> [ForeignTokenKey] {
        let secrets = try await registry.secrets(of: app.id)
        let keys = names.compactMap { name -> ForeignTokenKey? in
            guard let text = secrets[name] else {
                logger.error("a signing key's secret isn't set", metadata: ["app": "\(app.id)", "secret": "\(name)"])
                return nil
            }
            do {
                return algorithm == ForeignTokenKey.Algorithm.hs256.rawValue
                    ? try ForeignTokenKey(sharedSecret: text) : try ForeignTokenKey(pem: text)
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
