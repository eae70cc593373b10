import DocumentModel
import EventTopics
import Foundation
import TestSupport
import Testing

/// Ending a session ends its refresh token and its access tokens, and updates the rows and events that other services rely on.
@Suite struct EndedSessionTests {
    /// The session of a token, which is readable in its payload.
    private func session(_ tokens: AppClient.Tokens) throws -> String { try claim("iss", of: tokens.access).string }

    private func expiry(_ tokens: AppClient.Tokens) throws -> Int64 {
        try claim("exp", of: tokens.access).number * 1000
    }

    private func claim(_ name: String, of token: String) throws -> (string: String, number: Int64) {
        var part = String(token.split(separator: ".")[1]).replacing("-", with: "+").replacing("_", with: "/")
        part += String(repeating: "=", count: (4 - part.count % 4) % 4)
        let data: Data = try #require(Data(base64Encoded: part))
        let claims = try ExtendedJSON.parseDocument([UInt8](data))
        return (claims[name]?.stringValue ?? "", claims[name]?.int64Value ?? 0)
    }

    /// Expects that a session has ended everywhere.
    private func expectEnded(
        _ tokens: AppClient.Tokens, _ kind: AuthEvent.Kind, _ app: AppClient, _ fixture: AuthFixture,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let id = try session(tokens), until = try expiry(tokens)
        #expect(try await app.refresh(tokens.refresh).code == "InvalidSession", sourceLocation: sourceLocation)
        #expect(
            try await app.auth(.get, "profile", token: tokens.access).code == "InvalidSession",
            sourceLocation: sourceLocation)
        let rows = try await fixture.postgres.query(
            "select until from partita.ended_sessions where app = $1 and id = $2", [.text(app.app), .text(id)]
        ).decode(Int64.self)
        #expect(rows == [until], sourceLocation: sourceLocation)
        let event = try await eventually("the end of \(id) is told") {
            try await fixture.events(of: tokens.user, count: 1).first {
                $0.session == id && ($0.kind == .signedOut || $0.kind == .sessionRevoked)
            }
        }
        #expect(event.kind == kind && event.accessUntil == until, sourceLocation: sourceLocation)
    }

    private func keyLogin(_ app: AppClient, _ key: String) async throws -> AppClient.Tokens {
        try AppClient.tokens(try await app.call(.post, "auth/providers/api-key/login", ["key": .string(key)]))
    }

    private func makeKey(_ name: String, _ app: AppClient, _ tokens: AppClient.Tokens) async throws -> (
        id: String, key: String
    ) {
        let made = try await app.auth(.post, "api_keys", ["name": .string(name)], token: tokens.refresh)
        return (try #require(made.json["_id"]?.stringValue), try #require(made.json["key"]?.stringValue))
    }

    @Test func `after signing out the access token is refused until it would have expired anyway`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app()
        let phone = try await app.newUser("out@example.org")
        let tablet = try await app.signIn("out@example.org")
        #expect(try await app.auth(.delete, "session", token: phone.refresh).status == 204)
        try await expectEnded(phone, .signedOut, app, fixture)
        #expect(try await app.auth(.get, "profile", token: tablet.access).status == 200)
    }

    @Test func `a refreshed session is remembered until its newest access token expires`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app()
        var tokens = try await app.newUser("refreshed@example.org")
        let answer = try await ClockShift.ahead(fixture, by: 60) {
            try await fixture.later(app).refresh(tokens.refresh)
        }
        tokens.access = try #require(answer.json["access_token"]?.stringValue)
        tokens.refresh = try #require(answer.json["refresh_token"]?.stringValue)
        #expect(try await app.auth(.delete, "session", token: tokens.refresh).status == 204)
        try await expectEnded(tokens, .signedOut, app, fixture)
    }

    @Test func `a user sees their sessions and ends one from another`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app()
        let phone = try await app.newUser("many@example.org")
        let tablet = try await app.signIn("many@example.org")
        let stranger = try await app.newUser("stranger@example.org")
        let list = try await app.auth(.get, "sessions", token: tablet.refresh)
        let sessions = try #require(list.json.arrayValue)
        #expect(list.status == 200 && sessions.count == 2)
        for shown in sessions {
            #expect(shown["current"]?.boolValue == (shown["_id"]?.stringValue == (try session(tablet))))
            #expect(shown["provider_type"] == "local-userpass" && shown["platform"] == "test")
            #expect(shown["address"] == "127.0.0.1" && shown["user_agent"]?.stringValue?.isEmpty == false)
            #expect(shown["created_at"]?.dateValue != nil && shown["last_used_at"]?.dateValue != nil)
            #expect(shown["device"]?.stringValue?.isEmpty == false)
        }
        // A device identifies itself by its id.
        #expect(!String(decoding: list.body, as: UTF8.self).contains(phone.device))

        let path = "sessions/\(try session(phone))"
        #expect(try await app.auth(.delete, path, token: tablet.access).code == "InvalidSession")
        #expect(try await app.auth(.delete, path, token: stranger.refresh).code == "SessionNotFound")
        #expect(try await app.auth(.delete, path, token: tablet.refresh).status == 204)
        try await expectEnded(phone, .sessionRevoked, app, fixture)
        #expect(try await app.auth(.delete, path, token: tablet.refresh).status == 404)
        #expect(try await app.auth(.get, "sessions", token: phone.refresh).code == "InvalidSession")
        #expect(try await app.auth(.get, "sessions", token: tablet.refresh).json.arrayValue?.count == 1)
    }

    @Test(arguments: ["disable", "delete"])
    func `sessions that began with an API key end with it, and others stay`(_ action: String) async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app()
        let owner = try await app.newUser("keys@example.org")
        let first = try await makeKey("first", app, owner), second = try await makeKey("second", app, owner)
        let ended = try await keyLogin(app, first.key), other = try await keyLogin(app, second.key)
        let answer =
            action == "disable"
            ? try await app.auth(.put, "api_keys/\(first.id)/disable", token: owner.refresh)
            : try await app.auth(.delete, "api_keys/\(first.id)", token: owner.refresh)
        #expect(answer.status == 204)
        try await expectEnded(ended, .sessionRevoked, app, fixture)
        for tokens in [other, owner] {
            #expect(try await app.auth(.get, "profile", token: tokens.access).status == 200)
            #expect(try await app.refresh(tokens.refresh).status == 201)
        }
    }

    @Test func `a new password ends all sessions and disables all keys`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app()
        let email = "reset-\(ObjectId().hexString)@example.org"
        let phone = try await app.newUser(email)
        let key = try await makeKey("laptop", app, phone)
        let laptop = try await keyLogin(app, key.key)
        let reset = "auth/providers/local-userpass/reset"
        #expect(try await app.call(.post, reset + "/send", ["email": .string(email)]).status == 200)
        let link = try #require(try fixture.mails(to: email).last)
        let answer = try await app.call(
            .post, reset,
            ["token": .string(link.token), "tokenId": .string(link.tokenId), "password": "another password"])
        #expect(answer.status == 200)
        try await expectEnded(phone, .sessionRevoked, app, fixture)
        try await expectEnded(laptop, .sessionRevoked, app, fixture)
        let refused = try await app.call(.post, "auth/providers/api-key/login", ["key": .string(key.key)])
        #expect(refused.code == "AuthError")
        let again = try await app.signIn(email, "another password")
        let keys = try await app.auth(.get, "api_keys", token: again.refresh)
        #expect(keys.json[0]?["disabled"] == true)
    }
}
