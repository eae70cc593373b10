import DocumentModel
import Foundation
import TestSupport
import Testing

@testable import Auth

/// Linking an identity by redirects, as realm-web does it: a call with the user's token, whose answer says where a window is to go.
@Suite struct RedirectLinkTests {
    private static let page = "https://app.example/done"
    private static let origin = ["Origin": "https://app.example"]

    private func app(_ issuer: OpenIDIssuer) async throws -> AppClient {
        try await AuthFixture.shared().app(signingInAt: issuer, redirects: [Self.page, "https://app.example.evil/x"])
    }

    private func url(_ browser: Browser, redirect: String = page) throws -> String {
        try browser.loginURL("oidc-acme", redirect: redirect, state: "s") + "&link=true&providerRedirectHeader=true"
    }

    /// Begins, and goes to the identity provider.
    /// - Returns: auth's URL with the code.
    private func begin(_ browser: Browser, _ token: String) async throws -> String {
        let (response, json) = try await browser.send(
            try url(browser), headers: Self.origin.merging(["Authorization": "Bearer \(token)"]) { $1 })
        #expect(response.statusCode == 200, "\(json)")
        #expect(response.value(forHTTPHeaderField: "Location") == nil)
        #expect(response.value(forHTTPHeaderField: "Access-Control-Allow-Origin") == "https://app.example")
        #expect(response.value(forHTTPHeaderField: "Access-Control-Allow-Credentials") == "true")
        #expect(response.value(forHTTPHeaderField: "Access-Control-Expose-Headers") == "Retry-After, X-Baas-Location")
        let issuer = try #require(response.value(forHTTPHeaderField: "X-Baas-Location"))
        return try #require(try await browser.get(issuer).location)
    }

    private func end(_ browser: Browser, _ callback: String) async throws -> [String: String] {
        let ended = try await browser.get(callback)
        let location = try #require(ended.location, "\(ended.json)")
        #expect(ended.status == 302 && location.hasPrefix(Self.page + "#"))
        return Browser.fragment(location)
    }

    @Test func `the identity is the user's afterwards, who stays the same`() async throws {
        let issuer = try await OpenIDIssuer.start()
        let app = try await app(issuer)
        let user = try await app.newUser("mine@example.org")
        let browser = Browser(app: app)
        let result = try await end(browser, try await begin(browser, user.access))
        #expect(result["_baas_link"] == "ok" && result["_baas_state"] == "s", "\(result)")
        let parts = try #require(result["_baas_ua"]).split(separator: "$").map(String.init)
        #expect(parts.count == 4 && parts[2] == user.user)
        let profile = try await app.auth(.get, "profile", token: parts[0]).json
        let providers = profile["identities"]?.arrayValue?.compactMap { $0["provider_type"]?.stringValue }
        #expect(providers.map { Set($0) } == ["local-userpass", "oidc-acme"])
        // From now on it signs that user in.
        let signedIn = try await Browser(app: app).signIn("oidc-acme", redirect: Self.page, state: "s")
        #expect(signedIn["_baas_ua"]?.contains("$\(user.user)$") == true && signedIn["_baas_link"] == nil)
    }

    @Test func `an identity of another user stays theirs`() async throws {
        let issuer = try await OpenIDIssuer.start()
        let app = try await app(issuer)
        let owner = try await Browser(app: app).signIn("oidc-acme", redirect: Self.page, state: "s")
        let user = try await app.newUser("second@example.org")
        let browser = Browser(app: app)
        let result = try await end(browser, try await begin(browser, user.access))
        #expect(
            result["_baas_error"]?.hasPrefix("AccountNameInUse: ") == true && result["_baas_ua"] == nil, "\(result)")
        let again = try await Browser(app: app).signIn("oidc-acme", redirect: Self.page, state: "s")
        let id = { (result: [String: String]) in result["_baas_ua"]?.split(separator: "$")[2] }
        #expect(id(again) == id(owner))
    }

    @Test func `it ends only while the session lives in which it was begun`() async throws {
        let issuer = try await OpenIDIssuer.start()
        let app = try await app(issuer)
        let user = try await app.newUser("leaves@example.org")
        let browser = Browser(app: app)
        let callback = try await begin(browser, user.access)
        _ = try await app.auth(.delete, "session", token: user.refresh)
        let result = try await end(browser, callback)
        #expect(result["_baas_error"]?.hasPrefix("InvalidSession: ") == true && result["_baas_ua"] == nil, "\(result)")
        let gone = try await browser.send(
            try url(browser), headers: ["Authorization": "Bearer \(user.access)"])
        #expect(gone.response.statusCode == 401 && gone.json["error_code"] == "InvalidSession")
    }

    @Test func `another browser can't end it`() async throws {
        let issuer = try await OpenIDIssuer.start()
        let app = try await app(issuer)
        let user = try await app.newUser("careful@example.org")
        let callback = try await begin(Browser(app: app), user.access)
        #expect(try await Browser(app: app).get(callback).status == 400)
    }

    @Test func `only a page of the redirect's own origin can begin`() async throws {
        let issuer = try await OpenIDIssuer.start()
        let app = try await app(issuer)
        let user = try await app.newUser("victim@example.org")
        let browser = Browser(app: app)
        func code(_ url: String, _ headers: [String: String]) async throws -> Value? {
            try await browser.send(url, headers: headers).json["error_code"]
        }
        let token = ["Authorization": "Bearer \(user.access)"]
        let foreign = token.merging(["Origin": "https://evil.example"]) { $1 }
        #expect(try await code(try url(browser), foreign) == "DomainNotAllowed")
        let longer = token.merging(Self.origin) { $1 }
        #expect(try await code(try url(browser, redirect: "https://app.example.evil/x"), longer) == "DomainNotAllowed")
        #expect(try await code(try url(browser), Self.origin) == "InvalidSession")
        let plain = try browser.loginURL("oidc-acme", redirect: Self.page, state: "s")
        #expect(try await code(plain + "&link=true", token) == "InvalidParameter")
        #expect(try await code(plain + "&link=yes&providerRedirectHeader=true", token) == "InvalidParameter")
        let refresh = ["Authorization": "Bearer \(user.refresh)"]
        #expect(try await code(try url(browser), refresh) == "InvalidSession")
    }

    @Test func `a browser asks first, and may send the token and keep the cookie`() async throws {
        let issuer = try await OpenIDIssuer.start()
        let app = try await app(issuer)
        let browser = Browser(app: app)
        let asking = Self.origin.merging([
            "Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "authorization",
        ]) { $1 }
        let asked = try await browser.send(try url(browser), method: "OPTIONS", headers: asking).response
        #expect(asked.statusCode == 204)
        #expect(asked.value(forHTTPHeaderField: "Access-Control-Allow-Origin") == "https://app.example")
        #expect(asked.value(forHTTPHeaderField: "Access-Control-Allow-Credentials") == "true")
        #expect(asked.value(forHTTPHeaderField: "Access-Control-Allow-Headers") == "authorization")
        // Nothing else takes credentials.
        let other = try await browser.send(
            "\(app.root)/api/client/v2.0/auth/callback?state=x", headers: Self.origin
        ).response
        #expect(other.value(forHTTPHeaderField: "Access-Control-Allow-Credentials") == nil)
    }

    @Test func `a sign-in may be begun by a call, too`() async throws {
        let issuer = try await OpenIDIssuer.start()
        let app = try await app(issuer)
        let browser = Browser(app: app)
        let plain = try browser.loginURL("oidc-acme", redirect: Self.page, state: "s")
        let begun = try await browser.send(plain + "&providerRedirectHeader=true", headers: Self.origin).response
        let there = try #require(begun.value(forHTTPHeaderField: "X-Baas-Location"))
        let callback = try #require(try await browser.get(there).location)
        #expect(try await end(browser, callback)["_baas_ua"] != nil)
    }
}
