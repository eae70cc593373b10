import AccessTokens
import AppDefinition
import AppRegistry
import DocumentModel

/// Signing in with an identity provider: Google, Apple, Facebook, or any issuer of OpenID Connect.
extension SignIn {
    func byOAuth(
        _ provider: AuthProvider, _ settings: OAuthSettings, _ proof: OAuthProof, app: DeployedApp,
        linking: TokenClaims?, client: SignInClient
    ) async throws -> Sessions.Begun {
        let caller = AttemptThrottle.Caller(address: client.origin.address)
        try await throttle.attempt(.token, app: app.id, subject: proof.text, caller: caller)
        let identity = try await proofs.identity(
            proof, provider: provider, settings: settings, app: app, now: accounts.clock.seconds
        ) { try await accounts.tables.identity(provider.name, $0, of: app.id) != nil }
        try await throttle.succeeded(.token, app: app.id, subject: proof.text, caller: caller)
        return try await enter(
            provider.name, subject: identity.subject, profile: identity.profile,
            // Apple tells a user's name once only: what isn't told stays.
            refreshed: identity.profile.fields.map(\.key), app: app, linking: linking, client: client)
    }

    /// Signs in, or links the identity, at the end of the way by redirects.
    ///
    /// - Parameter user: the field `user` of the identity provider's form.
    func signIn(
        code: String, user: String?, begun: RedirectRow, app: DeployedApp, client: SignInClient
    ) async throws -> Sessions.Grant {
        try await counted(begun.provider, app: app) { provider in
            guard let settings = OAuthSettings(provider) else {
                throw AuthError(.authProviderNotFound, "the app's provider has changed")
            }
            var linking: TokenClaims?
            if let begun = begun.linking { linking = try await claims(of: begun, app: app) }
            let given = settings.issuer == .apple ? try user.map { try AppleUser($0).profile } : nil
            return try await byOAuth(
                provider, settings, .redirectedCode(code, begun, given: given ?? Document()), app: app,
                linking: linking,
                client: client)
        }
    }

    /// The user who links an identity, if the session in which that was begun still lives.
    private func claims(of begun: RedirectRow.Linking, app: DeployedApp) async throws -> TokenClaims {
        let now = accounts.clock.seconds
        let claims = TokenClaims(
            session: begun.session, user: begun.user, device: "", app: app.id, type: .access, issuedAt: now,
            expiresAt: now)
        _ = try await sessions.user(of: claims)
        return claims
    }
}
