import AccessTokens
import AppDefinition
import DocumentModel
import Foundation
import TestSupport
import Testing

@testable import Auth

@Suite struct OpenIDTests {
    /// An app whose users sign in with an issuer of its own.
    private func app(_ issuer: OpenIDIssuer, more: String = "") async throws -> AppClient {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app { app in
            app.providers["oidc-acme"] = """
                {"name": "oidc-acme", "type": "openid-connect",
                 "config": {"issuer": "\(issuer.url)", "clientId": "\(OpenIDIssuer.client)", "audience": ["ios-app"]},
                 "secret_config": {"clientSecret": "acmeSecret"},
                 "metadata_fields": [{"name": "email"}, {"name": "first_name"}] \(more)}
                """
        }
        try await fixture.registry.setSecret("acmeSecret", of: app.app, to: OpenIDIssuer.secret)
        return app
    }

    private func login(_ app: AppClient, _ credentials: Document, link: AppClient.Tokens? = nil) async throws
        -> AppClient.Answer
    {
        try await app.call(
            .post, "auth/providers/oidc-acme/login" + (link == nil ? "" : "?link=true"), credentials,
            token: link?.access)
    }

    @Test func `an ID token signs its subject in, and its claims become the profile`() async throws {
        let issuer = try await OpenIDIssuer.start()
        let app = try await app(issuer)
        let token = try await issuer.token(["email": "ada@example.org", "given_name": "Ada", "nonce": "the SDK's own"])
        let first = try AppClient.tokens(try await login(app, ["id_token": .string(token)]))
        let profile = try await app.auth(.get, "profile", token: first.access).json
        #expect(profile["data"] == ["email": "ada@example.org", "first_name": "Ada"])
        #expect(profile["identities"]?[0]?["provider_type"] == "oidc-acme")
        for (algorithm, audience) in [("PS256", "ios-app"), ("ES256", OpenIDIssuer.client), ("EdDSA", "ios-app")] {
            let again = try await issuer.token(["aud": audience], algorithm: algorithm)
            #expect(try AppClient.tokens(try await login(app, ["id_token": .string(again)])).user == first.user)
        }
        let other = try await issuer.token(["sub": "u-2"])
        #expect(try AppClient.tokens(try await login(app, ["id_token": .string(other)])).user != first.user)
    }

    @Test func `an ID token that isn't for the app is refused, with the reason`() async throws {
        let issuer = try await OpenIDIssuer.start()
        let stranger = try await OpenIDIssuer.start()
        let app = try await app(issuer)
        let now = Int(Date().timeIntervalSince1970)
        for (token, reason) in [
            (try await issuer.token(["aud": "another-app"]), "token-audience-mismatch"),
            (try await issuer.token(["aud": "IOS-APP"]), "token-audience-mismatch"),
            (try await issuer.token(["iss": issuer.url + "/"]), "token-issuer-mismatch"),
            (try await issuer.token(["exp": now - 1]), "token-expired"),
            (try await issuer.token(["iat": now + 3600]), "token-not-yet-valid"),
            (try await issuer.token(["sub": ""]), "token-claim-invalid"),
            (try await issuer.token(keyId: "unknown"), "token-key-unknown"),
            (try await issuer.token(keyId: "ES256-1"), "token-algorithm-refused"),
            (try await stranger.token(["iss": issuer.url]), "token-signature-invalid"),
        ] {
            let answer = try await login(app, ["id_token": .string(token)])
            #expect(answer.status == 401 && answer.code == "AuthError", "\(reason)")
            #expect(answer.json["error"]?.stringValue?.contains(reason) == true, "\(reason): \(answer.json)")
        }
        #expect(try await login(app, [:]).code == "MissingParameter")
        #expect(try await login(app, ["accessToken": "x"]).code == "MissingParameter")
        #expect(try await login(app, ["id_token": 1]).code == "InvalidParameter")
    }

    @Test func `an address that isn't verified doesn't become the profile's`() async throws {
        let issuer = try await OpenIDIssuer.start()
        let app = try await app(issuer, more: #", "domain_restrictions": ["Example.org"]"#)
        let verified = try await issuer.token(["email": "ada@EXAMPLE.org", "email_verified": true])
        #expect(try await login(app, ["id_token": .string(verified)]).status == 200)
        for claims: [String: any Sendable] in [
            ["email": "ada@example.org", "email_verified": false],
            ["email": "ada@example.org", "email_verified": "false"], ["email": "ada@example.com"], [:],
            ["email": "ada@example.org@example.com"],
        ] {
            let answer = try await login(app, ["id_token": .string(try await issuer.token(claims))])
            #expect(answer.status == 401 && answer.code == "DomainNotAllowed", "\(claims)")
        }
    }

    @Test(arguments: [false, true])
    func `a code that the client got is exchanged, whichever way the issuer takes the secret`(isHeader: Bool)
        async throws
    {
        let issuer = try await OpenIDIssuer.start()
        try await issuer.set(["secretInHeader": isHeader])
        let app = try await app(issuer)
        let code = try await issuer.code(["sub": "u-7"])
        #expect(try await login(app, ["authCode": .string(code)]).status == 200)
        let again = try await login(app, ["authCode": .string(code)])
        #expect(again.code == "AuthError")
        #expect(again.json["error"]?.stringValue?.contains("invalid_grant") == true)
        try await AuthFixture.shared().registry.setSecret("acmeSecret", of: app.app, to: "another")
        let refused = try await login(app, ["authCode": .string(try await issuer.code())])
        #expect(refused.json["error"]?.stringValue?.contains("invalid_client") == true)
    }

    @Test func `forged key names don't make auth fetch the keys again and again`() async throws {
        let issuer = try await OpenIDIssuer.start()
        let app = try await app(issuer)
        let start = ContinuousClock.now
        #expect(try await login(app, ["id_token": .string(try await issuer.token())]).status == 200)
        for number in 0..<20 {
            let token = try await issuer.token(keyId: "forged-\(number)")
            #expect(try await login(app, ["id_token": .string(token)]).status == 401)
        }
        // One fetch at first, and at most one for each ten seconds.
        let pauses = Int((ContinuousClock.now - start) / PublicationLimits().pause)
        #expect(try await issuer.keyFetches() <= 1 + pauses)
    }

    @Test func `a set with a single key needs no key id`() async throws {
        let issuer = try await OpenIDIssuer.start()
        try await issuer.set(["nameless": true, "single": "ES256"])
        let app = try await app(issuer)
        let token = try await issuer.token(algorithm: "ES256")
        #expect(try await login(app, ["id_token": .string(token)]).status == 200)
        let other = try await login(app, ["id_token": .string(try await issuer.token())])
        #expect(other.json["error"]?.stringValue?.contains("token-algorithm-refused") == true)
    }

    @Test func `an issuer that can't be asked, or calls itself otherwise, makes the caller retry`() async throws {
        let issuer = try await OpenIDIssuer.start()
        let app = try await app(issuer)
        let token = try await issuer.token()
        try await issuer.set(["issuer": "https://other.example"])
        let other = try await login(app, ["id_token": .string(token)])
        #expect(other.status == 503 && other.code == "ServiceUnavailable")

        let away = try await OpenIDIssuer.start()
        let second = try await self.app(away)
        try await away.set(["away": true])
        #expect(try await login(second, ["id_token": .string(try await away.token())]).status == 503)
    }

    @Test func `an identity is linked to the signed-in user`() async throws {
        let issuer = try await OpenIDIssuer.start()
        let app = try await app(issuer)
        let user = try await app.newUser("link@example.org")
        let token = try await issuer.token(["given_name": "Ada", "email": "other@example.org"])
        #expect(try AppClient.tokens(try await login(app, ["id_token": .string(token)], link: user)).user == user.user)
        #expect(try AppClient.tokens(try await login(app, ["id_token": .string(token)])).user == user.user)
        let profile = try await app.auth(.get, "profile", token: user.access).json
        #expect(profile["identities"]?.arrayValue?.count == 2)
        #expect(profile["data"]?["email"] == "other@example.org" || profile["data"]?["email"] == "link@example.org")
        let second = try await app.newUser("second@example.org")
        #expect(try await login(app, ["id_token": .string(token)], link: second).code == "AccountNameInUse")
    }

    @Test func `Google and Apple are issuers with known addresses`() async throws {
        // The fixture's configuration names this process's issuer for both.
        let fixture = try await AuthFixture.shared()
        let issuer = fixture.issuer
        let app = try await fixture.app { app in
            for name in ["oauth2-google", "oauth2-apple"] {
                app.providers[name] = """
                    {"name": "\(name)", "type": "\(name)", "config": {"clientId": "\(OpenIDIssuer.client)", "openId": true},
                     "secret_config": {"clientSecret": "s"}, "metadata_fields": [{"name": "email"}]}
                    """
            }
        }
        try await fixture.registry.setSecret("s", of: app.app, to: OpenIDIssuer.secret)
        let token = try await issuer.token(["sub": "google-1"])
        let google = try AppClient.tokens(
            try await app.call(.post, "auth/providers/oauth2-google/login", ["id_token": .string(token)]))
        let byCode = try await issuer.code(["sub": "google-1"])
        let again = try AppClient.tokens(
            try await app.call(.post, "auth/providers/oauth2-google/login", ["authCode": .string(byCode)]))
        #expect(again.user == google.user)
        let older = try await issuer.token(["sub": "google-1", "iss": "accounts.google.com"])
        #expect(
            try await app.call(.post, "auth/providers/oauth2-google/login", ["id_token": .string(older)]).status == 200)
        let apple = try AppClient.tokens(
            try await app.call(.post, "auth/providers/oauth2-apple/login", ["id_token": .string(token)]))
        #expect(apple.user != google.user)
        #expect(
            try await app.call(.post, "auth/providers/oauth2-apple/login", ["id_token": .string(older)]).status == 401)
    }

    @Test func `the algorithms of keys that are secrets are all that there are`() {
        #expect(Set(CustomTokenSettings.algorithms) == Set(SignatureAlgorithm.allCases.map(\.rawValue)))
    }
}
