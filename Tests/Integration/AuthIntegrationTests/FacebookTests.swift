import DocumentModel
import TestSupport
import Testing

@Suite struct FacebookTests {
    private func app() async throws -> AppClient {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app { app in
            app.providers["oauth2-facebook"] = """
                {"name": "oauth2-facebook", "type": "oauth2-facebook", "config": {"clientId": "\(OpenIDIssuer.client)"},
                 "secret_config": {"clientSecret": "fb"},
                 "metadata_fields": [{"name": "name", "required": true}, {"name": "picture"}, {"name": "min_age"}],
                 "redirect_uris": ["https://app.example/done"]}
                """
        }
        try await fixture.registry.setSecret("fb", of: app.app, to: OpenIDIssuer.secret)
        return app
    }

    private func login(_ app: AppClient, _ credentials: Document) async throws -> AppClient.Answer {
        try await app.call(.post, "auth/providers/oauth2-facebook/login", credentials)
    }

    @Test func `an access token signs its user in, with the fields that the app names`() async throws {
        let app = try await app()
        let issuer = try await AuthFixture.shared().issuer
        try await issuer.facebook(
            token: "good",
            [
                "id": "1001", "name": "Ada", "email": "ada@example.org", "age_range": ["min": 21],
                "picture": ["data": ["url": "https://pictures.example/1"]],
            ])
        let first = try AppClient.tokens(try await login(app, ["accessToken": "good"]))
        let profile = try await app.auth(.get, "profile", token: first.access).json
        #expect(profile["data"] == ["name": "Ada", "picture": "https://pictures.example/1", "min_age": 21])
        try await issuer.facebook(token: "newer", ["id": "1001", "name": "Ada L."])
        let again = try AppClient.tokens(try await login(app, ["accessToken": "newer"]))
        #expect(again.user == first.user)
        #expect(try await app.auth(.get, "profile", token: again.access).json["data"]?["name"] == "Ada L.")
    }

    @Test func `another app's token and an unknown one are refused`() async throws {
        let app = try await app()
        try await AuthFixture.shared().issuer.facebook(token: "other", ["id": "1", "name": "x", "app": "another-app"])
        try await AuthFixture.shared().issuer.facebook(token: "without", ["id": "2"])
        for token in ["other", "unknown", "without"] {
            let answer = try await login(app, ["accessToken": .string(token)])
            #expect(answer.status == 401 && answer.code == "AuthError", "\(token)")
        }
        #expect(try await login(app, ["id_token": "x"]).code == "MissingParameter")
        try await AuthFixture.shared().registry.setSecret("fb", of: app.app, to: "wrong")
        #expect(try await login(app, ["accessToken": "good"]).code == "AuthError")
    }

    @Test func `a sign-in by redirects ends with the tokens`() async throws {
        let app = try await app()
        try await AuthFixture.shared().issuer.facebook(token: "token-of-the-dialog", ["id": "77", "name": "Grace"])
        let browser = Browser(app: app)
        let result = try await browser.signIn("oauth2-facebook", redirect: "https://app.example/done", state: "s")
        #expect(result["_baas_error"] == nil)
        let parts = try #require(result["_baas_ua"]).split(separator: "$")
        #expect(parts.count == 4)
        let profile = try await app.auth(.get, "profile", token: String(parts[0])).json
        #expect(profile["data"]?["name"] == "Grace")
    }
}
