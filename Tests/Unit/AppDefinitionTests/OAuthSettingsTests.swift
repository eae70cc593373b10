import AppDefinition
import DocumentModel
import Testing

struct OAuthSettingsTests {
    private func provider(_ name: String, _ text: String) throws -> AuthProvider {
        var files = AppFixture.files
        files.texts["auth/providers.json"] = "{\"\(name)\": \(text)}"
        return try #require(try AppDefinition(files: files).authProvider(name))
    }

    @Test func `a provider of an export is read as it is`() throws {
        let provider = try provider(
            "oauth2-google",
            """
            {"id": "5f0000000000000000000000", "name": "oauth2-google", "type": "oauth2-google",
             "config": {"clientId": "1.apps.example", "openId": true}, "secret_config": {"clientSecret": "googleSecret"},
             "metadata_fields": [{"required": false, "name": "email"}], "redirect_uris": ["http://localhost:3000"],
             "domain_restrictions": ["Example.ORG"]}
            """)
        let settings = try #require(OAuthSettings(provider))
        #expect(settings.issuer == .google && settings.clientId == "1.apps.example")
        #expect(settings.audience == ["1.apps.example"] && settings.clientSecret == "googleSecret")
        #expect(settings.scopes == ["openid", "email", "profile"])
        #expect(provider.redirectURIs == ["http://localhost:3000"] && provider.domainRestrictions == ["example.org"])
    }

    @Test func `an issuer of its own has an address, clients and scopes`() throws {
        let provider = try provider(
            "oidc-acme",
            """
            {"name": "oidc-acme", "type": "openid-connect",
             "config": {"issuer": "https://a.example", "clientId": "x", "audience": ["y"], "scopes": ["openid"]}}
            """)
        let settings = try #require(OAuthSettings(provider))
        #expect(settings.issuer == .openIDConnect(ExactText("https://a.example")))
        #expect(settings.audience == ["x", "y"] && settings.scopes == ["openid"] && settings.clientSecret == nil)
    }

    @Test func `other providers have none`() throws {
        let provider = try provider("anon-user", #"{"name": "anon-user", "type": "anon-user"}"#)
        #expect(OAuthSettings(provider) == nil)
    }
}
