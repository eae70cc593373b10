import DocumentModel

/// How users sign in with an identity provider by OAuth 2 and OpenID Connect: `oauth2-google`, `oauth2-apple`, `oauth2-facebook`, and
/// Partita's own type `openid-connect` for any other issuer, of which an app may have several under different names.
public struct OAuthSettings: Sendable {
    /// The identity provider.
    public enum Issuer: Hashable, Sendable {
        case google, apple, facebook
        /// An issuer of ID tokens by its identifier, from which its metadata are found (OpenID Connect Discovery 1.0 §4).
        case openIDConnect(ExactText)
    }

    /// The types of providers.
    public static let types: Set<String> = ["oauth2-google", "oauth2-apple", "oauth2-facebook", "openid-connect"]

    public var issuer: Issuer
    /// The id that the identity provider gave the app.
    public var clientId: String
    /// The client ids whose ID tokens are accepted: `clientId`, and those of `config.audience`.
    public var audience: [String]
    /// The name of the secret that the app has with the identity provider; `nil` where it has none.
    public var clientSecret: String?
    /// What a sign-in by redirects asks the identity provider for.
    public var scopes: [String]

    /// Reads the settings of a provider.
    ///
    /// - Returns: `nil` for a provider of another type.
    public init?(_ provider: AuthProvider) {
        let config = provider.config
        func texts(_ key: String) -> [String] { config[key]?.arrayValue?.compactMap(\.stringValue) ?? [] }
        switch provider.type {
        case "oauth2-google": issuer = .google
        case "oauth2-apple": issuer = .apple
        case "oauth2-facebook": issuer = .facebook
        case "openid-connect": issuer = .openIDConnect(ExactText(config["issuer"]?.stringValue ?? ""))
        default: return nil
        }
        clientId = config["clientId"]?.stringValue ?? ""
        audience = [clientId] + texts("audience")
        clientSecret = provider.secretConfig["clientSecret"]?.stringValue
        let usual =
            switch issuer {
            case .google, .openIDConnect: ["openid", "email", "profile"]
            case .apple: ["openid", "email", "name"]
            case .facebook: ["email", "public_profile"]
            }
        scopes = config["scopes"] == nil ? usual : texts("scopes")
    }
}
