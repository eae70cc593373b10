extension DefinitionReader {
    /// Checks an enabled provider that signs in by OAuth 2 or OpenID Connect.
    func checkOAuth(_ provider: AuthProvider, _ node: ConfigNode) {
        let config = node.child("config") ?? node
        _ = config.required("clientId")
        _ = config.strings("audience")
        _ = config.strings("scopes")
        config.check(flags: ["openId"], strings: ["issuer"])
        guard let settings = OAuthSettings(provider) else { return }
        if case .openIDConnect(let issuer) = settings.issuer {
            checkURL(issuer.text, "issuer", config)
            // Identities are kept by the provider's name, so it must not be that of another kind of identity.
            if !provider.name.startsWithBytes(of: "oidc-") || provider.name.utf8.count > 64 {
                node.problem(
                    .fieldValue, at: "name", "the name of a provider of type openid-connect must begin with oidc-")
            }
        }
        if settings.clientSecret == nil {
            let consequence =
                settings.issuer == .facebook
                ? "no access token can be checked, so no user can sign in"
                : "sign-in works with ID tokens, and with codes only if the identity provider asks for no secret"
            (node.child("secret_config") ?? node).problem(
                .fieldMissing, severity: .warning, "clientSecret names no secret: \(consequence)")
        }
        for uri in node.child("redirect_uris")?.elements ?? [] {
            guard let text = uri.text else { continue }
            // It is sent in a header, and the result of the sign-in is appended as its fragment.
            if !text.contains(":") || !text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") }) {
                uri.problem(.fieldValue, "must be a URL of ASCII without a fragment")
            }
        }
    }
}
