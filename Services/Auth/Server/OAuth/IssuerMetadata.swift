import DocumentModel

/// What an issuer says of itself (OpenID Connect Discovery 1.0 §3).
struct IssuerMetadata: Sendable {
    @ExactText var issuer: String
    /// The page on which the user signs in.
    var authorizationEndpoint: String
    /// Where codes are exchanged for tokens.
    var tokenEndpoint: String
    /// Where the key set is.
    var keySet: String
    /// Whether the secret is sent in the form instead of in a header (RFC 6749 §2.3.1).
    var takesSecretInForm: Bool

    /// - Throws: `IssuerUnavailableError` when something that is needed is missing.
    init(_ document: Document) throws(IssuerUnavailableError) {
        func text(_ name: String) throws(IssuerUnavailableError) -> String {
            guard let text = document[name]?.stringValue, !text.isEmpty else {
                throw IssuerUnavailableError(message: "the issuer's metadata have no \(name)")
            }
            return text
        }
        issuer = try text("issuer")
        authorizationEndpoint = try text("authorization_endpoint")
        tokenEndpoint = try text("token_endpoint")
        keySet = try text("jwks_uri")
        let methods = document["token_endpoint_auth_methods_supported"]?.arrayValue?.compactMap(\.stringValue)
        takesSecretInForm = methods?.contains("client_secret_post") ?? false
    }

    /// Where the metadata of an issuer are.
    static func address(of issuer: String) -> String {
        (issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer) + "/.well-known/openid-configuration"
    }
}

/// The addresses of the identity providers that apps know by name.
struct IssuerAddresses: Sendable {
    var google: String
    var apple: String
    /// Of the Graph API.
    var facebook: String
    /// The page on which a user signs in at Facebook.
    var facebookDialog: String
}
