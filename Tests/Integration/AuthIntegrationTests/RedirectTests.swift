import DocumentModel
import Foundation
import TestSupport
import Testing

@testable import Auth

@Suite struct RedirectTests {
    private static let page = "https://app.example/done?x=1"

    private func app(_ issuer: OpenIDIssuer) async throws -> AppClient {
        try await AuthFixture.shared().app(signingInAt: issuer, redirects: [Self.page, "myapp://done"])
    }

    @Test func `the browser comes back with tokens, the app's state, and no trace of the code`() async throws {
        let issuer = try await OpenIDIssuer.start()
        let app = try await app(issuer)
        let browser = Browser(app: app)
        let device = Data(#"{"platform":"chrome"}"#.utf8).base64EncodedString()
        let result = try await browser.signIn("oidc-acme", redirect: Self.page, state: "a b&c", device: device)
        #expect(result["_baas_client_app_id"] == app.app && result["_baas_state"] == "a b&c")
        let parts = try #require(result["_baas_ua"]).split(separator: "$").map(String.init)
        #expect(parts.count == 4)
        let profile = try await app.auth(.get, "profile", token: parts[0]).json
        #expect(profile["user_id"] == .string(parts[2]) && profile["data"]?["email"] == "code@example.org")
        let sessions = try await app.auth(.get, "sessions", token: parts[1]).json
        #expect(sessions[0]?["platform"] == "chrome")
        let native = try await Browser(app: app).signIn("oidc-acme", redirect: "myapp://done", state: "")
        #expect(native["_baas_ua"] != nil)
        #expect(
            try await AuthFixture.shared().postgres.query(
                "SELECT FROM partita.auth_redirects WHERE app = $1", [.text(app.app)]
            ).isEmpty)
    }

    @Test func `an identity provider may post the code as a form`() async throws {
        let issuer = try await OpenIDIssuer.start()
        let app = try await app(issuer)
        let browser = Browser(app: app)
        let callback = try await browser.visitIssuer("oidc-acme", redirect: Self.page, state: "s")
        let parts = callback.split(separator: "?").map(String.init)
        let ended = try await browser.get(parts[0], form: parts[1])
        #expect(ended.status == 302)
        #expect(Browser.fragment(try #require(ended.location))["_baas_ua"] != nil)
    }

    @Test func `Apple's name of a user comes with the first form only`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app { app in
            app.providers["oauth2-apple"] = """
                {"name": "oauth2-apple", "type": "oauth2-apple", "config": {"clientId": "\(OpenIDIssuer.client)"},
                 "secret_config": {"clientSecret": "s"},
                 "metadata_fields": [{"name": "email"}, {"name": "first_name", "required": true}, {"name": "last_name"}],
                 "redirect_uris": ["\(Self.page)"]}
                """
        }
        try await fixture.registry.setSecret("s", of: app.app, to: OpenIDIssuer.secret)
        func end(_ user: String?) async throws -> [String: String] {
            let browser = Browser(app: app)
            let callback = try await browser.visitIssuer("oauth2-apple", redirect: Self.page, state: "s")
            let parts = callback.split(separator: "?").map(String.init)
            let more = user.map { "&user=" + PercentEncoding.encode($0) } ?? ""
            return Browser.fragment(try #require(try await browser.get(parts[0], form: parts[1] + more).location))
        }
        func profile(_ result: [String: String]) async throws -> Value? {
            let access = try #require(result["_baas_ua"], "\(result)").split(separator: "$").map(String.init)[0]
            return try await app.auth(.get, "profile", token: access).json["data"]
        }
        #expect(try await end(nil)["_baas_error"]?.hasPrefix("AuthError") == true)
        for wrong in ["Ada", "[]", "{", String(repeating: "x", count: 5000)] {
            #expect(try await end(wrong)["_baas_error"]?.hasPrefix("BadRequest") == true, "\(wrong.prefix(9))")
        }
        let form = #"{"name": {"firstName": "Ada", "lastName": ""}, "email": "forged@example.org"}"#
        let first = try await profile(try await end(form))
        #expect(first?["first_name"] == "Ada" && first?["last_name"] == nil && first?["email"] == "code@example.org")
        for later in [nil, #"{"name": {"firstName": "Eve", "lastName": "E"}}"#] {
            let data = try await profile(try await end(later))
            #expect(data?["first_name"] == "Ada" && data?["last_name"] == nil, "\(String(describing: data))")
        }
    }

    @Test func `a code works once, and only in the browser that began`() async throws {
        let issuer = try await OpenIDIssuer.start()
        let app = try await app(issuer)
        let browser = Browser(app: app)
        let callback = try await browser.visitIssuer("oidc-acme", redirect: Self.page, state: "s")
        let stolen = try await Browser(app: app).get(callback)
        #expect(stolen.status == 400 && stolen.json["error_code"] == "BadRequest")
        // The attempt has used it up.
        #expect(try await browser.get(callback).status == 400)

        // A cookie that another page has planted, whose value looks like auth's cookie.
        let attacker = Browser(app: app)
        let own = try await attacker.visitIssuer("oidc-acme", redirect: Self.page, state: "s")
        let victim = Browser(app: app)
        victim.cookies = ["x=1, " + attacker.cookies[0]]
        #expect(try await victim.get(own).status == 400)

        let second = try await browser.visitIssuer("oidc-acme", redirect: Self.page, state: "s")
        #expect(try await browser.get(second).status == 302)
        #expect(try await browser.get(second).status == 400)
        for query in ["", "?state=unknown&code=x", "?code=x"] {
            #expect(try await browser.get("\(app.root)/api/client/v2.0/auth/callback\(query)").status == 400)
        }
    }

    @Test func `a sign-in expires`() async throws {
        let issuer = try await OpenIDIssuer.start()
        let fixture = try await AuthFixture.shared()
        let app = try await app(issuer)
        let browser = Browser(app: app)
        let callback = try await browser.visitIssuer("oidc-acme", redirect: Self.page, state: "s")
        try await fixture.postgres.execute(
            "UPDATE partita.auth_redirects SET expires_at = expires_at - 600001 WHERE app = $1", [.text(app.app)])
        #expect(try await browser.get(callback).status == 400)
    }

    @Test func `an ID token with another nonce is refused on the app's page`() async throws {
        let issuer = try await OpenIDIssuer.start()
        let app = try await app(issuer)
        try await issuer.set(["nonce": "of another sign-in"])
        let result = try await Browser(app: app).signIn("oidc-acme", redirect: Self.page, state: "s")
        #expect(result["_baas_ua"] == nil && result["_baas_state"] == "s")
        #expect(result["_baas_error"]?.hasPrefix("AuthError: ") == true)
    }

    @Test func `what the user refused is told to the app`() async throws {
        let issuer = try await OpenIDIssuer.start()
        let app = try await app(issuer)
        let browser = Browser(app: app)
        let callback = try await browser.visitIssuer("oidc-acme", redirect: Self.page, state: "s")
        let refused = callback.replacing(/code=[^&]*/, with: "error=access_denied")
        let ended = try await browser.get(refused)
        #expect(
            Browser.fragment(try #require(ended.location))["_baas_error"]?.contains("access_denied") == true)
    }

    @Test func `a code that another issuer sends is refused`() async throws {
        let issuer = try await OpenIDIssuer.start()
        let app = try await app(issuer)
        for (name, isGood) in [(issuer.url, true), (issuer.url + "/", false), ("https://other.example", false)] {
            let browser = Browser(app: app)
            let callback = try await browser.visitIssuer("oidc-acme", redirect: Self.page, state: "s")
            let ended = try await browser.get(callback + "&iss=" + PercentEncoding.encode(name))
            let result = Browser.fragment(try #require(ended.location))
            #expect((result["_baas_ua"] != nil) == isGood && (result["_baas_error"] == nil) == isGood, "\(name)")
        }
    }

    @Test func `only the app's own pages are led to`() async throws {
        let issuer = try await OpenIDIssuer.start()
        let app = try await app(issuer)
        let browser = Browser(app: app)
        for redirect in ["https://app.example/done", Self.page + "&y=2", "https://evil.example", "MYAPP://done", ""] {
            let answer = try await browser.get(
                try browser.loginURL("oidc-acme", redirect: redirect, state: "s"))
            #expect(answer.status == 400 && answer.json["error_code"] == "InvalidParameter", "\(redirect)")
        }
        let other = try await browser.get(try browser.loginURL("anon-user", redirect: Self.page, state: "s"))
        #expect(other.json["error_code"] == "BadRequest")
        let device = try await browser.get(
            try browser.loginURL("oidc-acme", redirect: Self.page, state: "s", device: "no JSON"))
        #expect(device.json["error_code"] == "InvalidParameter")
    }
}
