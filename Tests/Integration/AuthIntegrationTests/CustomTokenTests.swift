import DocumentModel
import Foundation
import TestSupport
import Testing

@testable import Auth

@Suite struct CustomTokenTests {
    private static let path = "auth/providers/custom-token/login"

    private func login(_ app: AppClient, _ token: String) async throws -> AppClient.Answer {
        try await app.call(.post, Self.path, ["provider": "custom-token", "token": .string(token)])
    }

    private func app(_ issuer: TestIssuer, fields: String = "") async throws -> AppClient {
        try await AuthFixture.shared().app { app in
            app.customToken = """
                {"config": {"useJWKURI": true, "jwkURI": "\(issuer.url)", "audience": ["shop"]},
                 "metadata_fields": [\(fields)]}
                """
        }
    }

    @Test func `a token of the developer's issuer signs its subject in, and its claims become the profile`()
        async throws
    {
        let issuer = try await TestIssuer()
        let app = try await app(
            issuer, fields: #"{"name": "email", "required": true}, {"name": "name.full", "field_name": "fullName"}"#)
        let more: Document = ["email": "ada@example.org", "name": ["full": "Ada"]]
        let first = try AppClient.tokens(try await login(app, try issuer.token("u-1", more: more)))
        let profile = try await app.auth(.get, "profile", token: first.access).json
        #expect(profile["data"] == ["email": "ada@example.org", "fullName": "Ada"])
        #expect(profile["identities"]?[0]?["provider_type"] == "custom-token")

        // The same subject is the same user, with the issuer's current claims, and without those that it has withdrawn.
        let again = try AppClient.tokens(
            try await login(app, try issuer.token("u-1", more: ["email": "ada@example.com"])))
        #expect(again.user == first.user)
        #expect(
            try await app.auth(.get, "profile", token: again.access).json["data"]
                == ["email": "ada@example.com"])
        let other = try AppClient.tokens(try await login(app, try issuer.token("u-2", more: more)))
        #expect(other.user != first.user)

        let events = try await AuthFixture.shared().events(of: first.user, count: 3)
        #expect(events.map(\.kind) == [.userCreated, .signedIn, .signedIn])
        #expect(events.first?.providers == ["custom-token"])

        let incomplete = try await login(app, try issuer.token("u-3"))
        #expect(incomplete.status == 401 && incomplete.code == "AuthError")
    }

    @Test func `an invalid token is refused, with the reason`() async throws {
        let issuer = try await TestIssuer()
        let stranger = try await TestIssuer()
        let app = try await app(issuer)
        for (token, reason) in [
            (try issuer.token("u", lifetime: -1), "token-expired"),
            (try issuer.token("u", audience: "other"), "token-audience-mismatch"),
            (try issuer.token("u", keyId: "nobody's"), "token-key-unknown"),
            (try stranger.token("u"), "token-signature-invalid"), ("no.to.ken", "token-malformed"),
        ] {
            let answer = try await login(app, token)
            #expect(answer.status == 401 && answer.code == "AuthError", "\(reason)")
            #expect(answer.json["error"]?.stringValue?.contains(reason) == true, "\(answer.json)")
            #expect(answer.header("Content-Type") == "application/json")
        }
        let without = try await app.call(.post, Self.path, ["provider": "custom-token"])
        #expect(without.code == "MissingParameter")
    }

    @Test func `an unavailable issuer makes the caller retry`() async throws {
        let issuer = try await TestIssuer()
        issuer.setAway(true)
        let app = try await app(issuer)
        let answer = try await login(app, try issuer.token("u"))
        #expect(answer.status == 503 && answer.code == "ServiceUnavailable")
    }

    @Test func `keys may be secrets of the app`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app { app in
            app.customToken = """
                {"config": {"signingAlgorithm": "HS256"}, "secret_config": {"signingKeys": ["jwtKey"]}}
                """
        }
        let token = try sharedSecretToken(audience: app.app, secret: "a secret of more than 32 characters!")
        #expect(try await login(app, token).status == 503)  // the secret isn't set yet
        try await fixture.registry.setSecret("jwtKey", of: app.app, to: "a secret of more than 32 characters!")
        #expect(try await login(app, token).status == 200)
        let forged = try sharedSecretToken(audience: app.app, secret: "another secret of over 32 characters")
        #expect(try await login(app, forged).code == "AuthError")
    }

    @Test func `an identity that is new is added to the user who links it`() async throws {
        let issuer = try await TestIssuer()
        let app = try await app(issuer, fields: #"{"name": "email"}"#)
        let user = try AppClient.tokens(
            try await app.call(.post, "auth/providers/anon-user/login", ["provider": "anon-user"]))
        let token = try issuer.token("late", more: ["email": "late@example.org"])
        let linked = try AppClient.tokens(
            try await app.call(.post, Self.path + "?link=true", ["token": .string(token)], token: user.access))
        #expect(linked.user == user.user)
        let byFunction = try AppClient.tokens(
            try await app.call(
                .post, "auth/providers/custom-function/login?link=true", ["name": "late"], token: user.access))
        #expect(byFunction.user == user.user)

        let profile = try await app.auth(.get, "profile", token: user.access).json
        let providers = profile["identities"]?.arrayValue?.compactMap { $0["provider_type"]?.stringValue }
        #expect(providers == ["anon-user", "custom-token", "custom-function"])
        #expect(profile["data"]?["email"] == "late@example.org")
        #expect(try AppClient.tokens(try await login(app, token)).user == user.user)
        let events = try await AuthFixture.shared().events(of: user.user, count: 5)
        #expect(events.filter { $0.kind == .identityLinked }.count == 2)
    }

    @Test func `what access tokens carry of a user is bounded`() async throws {
        let issuer = try await TestIssuer()
        let app = try await app(issuer, fields: #"{"name": "about"}"#)
        let long = try await login(
            app, try issuer.token("long", more: ["about": .string(String(repeating: "x", count: 4096))]))
        #expect(long.status == 400 && long.code == "InvalidParameter")
        #expect(long.json["error"]?.stringValue?.contains("4096 bytes") == true, "\(long.json)")
        let user = try AppClient.tokens(
            try await app.call(.post, "auth/providers/anon-user/login", ["provider": "anon-user"]))
        for number in 1...20 {
            let link = try await app.call(
                .post, "auth/providers/custom-function/login?link=true", ["name": "many-\(number)"], token: user.access)
            #expect(number < 20 ? link.status == 200 : link.code == "BadRequest", "\(number): \(link.json)")
        }
    }

    @Test func `linking goes on with the user's session, which one sign-out ends`() async throws {
        let issuer = try await TestIssuer()
        let app = try await app(issuer)
        let user = try AppClient.tokens(
            try await app.call(.post, "auth/providers/anon-user/login", ["provider": "anon-user"]))
        let linked = try AppClient.tokens(
            try await app.call(
                .post, Self.path + "?link=true", ["token": .string(try issuer.token("goes-on"))], token: user.access))
        // A client may go on with the refresh token that it has, or with the new one.
        let next = try await app.auth(.post, "session", token: user.refresh)
        #expect(next.status == 201)
        #expect(try await app.auth(.post, "session", token: linked.refresh).status == 201)
        #expect(try await app.auth(.delete, "session", token: linked.refresh).status == 204)
        for token in [user.refresh, linked.refresh] {
            #expect(try await app.auth(.post, "session", token: token).code == "InvalidSession")
        }
        for token in [user.access, linked.access] {
            #expect(try await app.auth(.get, "profile", token: token).code == "InvalidSession")
        }
    }

    /// A token that is signed with HS256 by openssl's command, so that another implementation has made it.
    private func sharedSecretToken(audience: String, secret: String) throws -> String {
        let now = Int64(Date().timeIntervalSince1970)
        let parts = [
            #"{"alg":"HS256","typ":"JWT"}"#, #"{"sub":"u-1","aud":"\#(audience)","exp":\#(now + 300)}"#,
        ]
        let text = parts.map { Self.base64URL(Data($0.utf8)) }.joined(separator: ".")
        let openssl = Process()
        openssl.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        openssl.arguments = ["dgst", "-sha256", "-hmac", secret, "-binary"]
        let (input, output) = (Pipe(), Pipe())
        openssl.standardInput = input
        openssl.standardOutput = output
        try openssl.run()
        try input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
        try input.fileHandleForWriting.close()
        let signature = try output.fileHandleForReading.readToEnd() ?? Data()
        openssl.waitUntilExit()
        return text + "." + Self.base64URL(signature)
    }

    private static func base64URL(_ data: Data) -> String {
        data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
