import AccessTokens
import AppDefinition
import AppRegistry
import DocumentModel
import Logging
import ServiceEngines
import Texts

/// Signing in by redirects, or linking an identity to a user who is signed in: to the identity provider's page, back to auth with a code,
/// and on to the app's page with the tokens (OpenID Connect Core §3.1, PKCE of RFC 7636).
///
/// What a sign-in began with is kept in Postgres for ten minutes, and used once: the nonce that its ID token must have, and the secret
/// that its code belongs to. It is bound to the browser that began it by a cookie, so that no page can end somebody else's sign-in.
struct RedirectSignIn: Sendable {
    let accounts: Accounts
    let signIn: SignIn
    let budget: CallBudget
    let proofs: OAuthProofs
    let logger: Logger

    static let lifetime: Int64 = 600

    /// The way to the identity provider's page.
    struct Departure: Sendable {
        var location: String
        var cookie: Cookie
    }

    /// The cookie by which the browser is known again.
    struct Cookie: Sendable {
        var name: String
        var value: String

        /// - Parameter state: a sign-in's, since a browser may have several under way.
        static func name(_ state: String) -> String {
            "partita-" + Hex.text(Sodium.digest(state).prefix(8))
        }
    }

    /// Begins a sign-in.
    ///
    /// - Parameters:
    ///   - redirect: the app's page for the result.
    ///   - state: what the app's page gets back, and recognizes its own sign-in by.
    ///   - callback: auth's own URL for the code, which the identity provider knows.
    ///   - linking: the user who gets the identity; `nil` signs in as the user who has it.
    /// - Throws: `invalidParameter` for a page that the provider's `redirect_uris` don't name.
    func begin(
        _ providerName: String, redirect: String, state clientState: String, device: Document, callback: String,
        linking: TokenClaims?, app: DeployedApp, origin: CallOrigin
    ) async throws -> Departure {
        let provider = try app.provider(providerName)
        guard let settings = OAuthSettings(provider) else {
            throw AuthError(.badRequest, "the auth provider '\(providerName)' doesn't sign in by redirects: use POST")
        }
        guard provider.redirectURIs.containsExactly(redirect) else {
            throw AuthError(.invalidParameter, "redirect isn't one of the provider's redirect_uris")
        }
        guard clientState.utf8.count <= 1024 else {
            throw AuthError(.invalidParameter, "state has more than 1,024 bytes")
        }
        try await budget.spend(.redirect, app: app.id, address: origin.address)
        let state = Hex.text(Sodium.randomBytes(32))
        let cookie = Cookie(name: Cookie.name(state), value: Hex.text(Sodium.randomBytes(32)))
        let begun = RedirectRow(
            app: app.id, provider: provider.name, browserHash: Sodium.digest(cookie.value),
            nonce: Hex.text(Sodium.randomBytes(16)), verifier: Hex.text(Sodium.randomBytes(32)),
            callback: callback, redirect: redirect, clientState: clientState, device: device,
            expiresAt: accounts.clock.now() + Self.lifetime * 1000,
            linking: linking.map { RedirectRow.Linking(user: $0.user, session: $0.session) })
        let location = try await IssuerFailure(app: app, logger: logger).translating {
            try await self.location(settings, begun, state: state)
        }
        try await accounts.tables.insertRedirect(begun, stateHash: Sodium.digest(state))
        return Departure(location: location, cookie: cookie)
    }

    private func location(_ settings: OAuthSettings, _ begun: RedirectRow, state: String) async throws -> String {
        var query = [
            ("response_type", "code"), ("client_id", settings.clientId), ("redirect_uri", begun.callback),
            ("scope", settings.scopes.joined(separator: " ")), ("state", state),
            ("code_challenge", Base64URL.encode(HashFunctions.sha256(begun.verifier))),
            ("code_challenge_method", "S256"),
        ]
        if settings.issuer == .facebook {
            return FormEncoding.url(proofs.facebook.addresses.facebookDialog, adding: query)
        }
        query.append(("nonce", begun.nonce))
        // Apple gives a name or an address only this way.
        if settings.issuer == .apple, settings.scopes.contains(where: { ["name", "email"].contains($0) }) {
            query.append(("response_mode", "form_post"))
        }
        return FormEncoding.url(
            try await proofs.issuers.metadata(of: settings).authorizationEndpoint, adding: query)
    }

    /// Ends a sign-in.
    ///
    /// - Parameters:
    ///   - answer: the parameters that the identity provider sent.
    ///   - cookies: those of the browser, by their names.
    /// - Returns: where the browser goes: the app's page, with the tokens or an error in its fragment.
    /// - Throws: `badRequest` for a sign-in that isn't known, has expired, or was begun by another browser.
    func end(
        _ answer: (String) -> String?, cookies: (String) -> String?, apps: AppDirectory, origin: CallOrigin
    ) async throws -> (location: String, cookie: String) {
        guard let state = answer("state"), state.utf8.count <= 256 else { throw Self.unknown }
        let cookie = Cookie.name(state)
        guard
            let begun = try await accounts.tables.takeRedirect(
                stateHash: Sodium.digest(state), now: accounts.clock.now()),
            let shown = cookies(cookie), Sodium.areEqual(Sodium.digest(shown), begun.browserHash)
        else { throw Self.unknown }
        var result = [("_baas_client_app_id", begun.app), ("_baas_state", begun.clientState)]
        do {
            let app = try apps.required(begun.app)
            if let error = answer("error") {
                throw AuthError(.authError, "the identity provider refuses: \(error.shortened(to: 128))")
            }
            try check(issuer: answer("iss"), of: begun, app: app)
            guard let code = answer("code") else { throw AuthError(.missingParameter, "code is missing") }
            let client = SignInClient(
                credentials: ["options": ["device": .document(begun.device)]], origin: origin)
            let grant = try await signIn.signIn(
                code: code, user: answer("user"), begun: begun, app: app, client: client)
            if begun.linking != nil { result.append(("_baas_link", "ok")) }
            result.append(
                (
                    "_baas_ua",
                    [grant.accessToken, grant.refreshToken, grant.userId, grant.deviceId].joined(separator: "$")
                ))
        } catch let error as AuthError {
            result.append(("_baas_error", "\(error.code.rawValue): \(error.message)"))
        }
        return (begun.redirect + "#" + FormEncoding.encode(result), cookie)
    }

    /// A code of another issuer isn't sent to this one (RFC 9207 §2.4).
    private func check(issuer: String?, of begun: RedirectRow, app: DeployedApp) throws {
        guard let issuer, let settings = OAuthSettings(try app.provider(begun.provider)),
            settings.issuer != .facebook
        else { return }
        guard issuer.hasSameBytes(as: try proofs.issuers.identifier(settings)) else {
            throw AuthError(.authError, "the code is another issuer's")
        }
    }

    private static let unknown = AuthError(
        .badRequest, "this sign-in isn't known here: it has ended, has expired, or was begun in another browser")
}
