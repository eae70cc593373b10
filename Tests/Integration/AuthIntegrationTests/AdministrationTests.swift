import AccessTokens
import DocumentModel
import Foundation
import TestSupport
import Testing

@testable import Auth

@Suite struct AdministrationTests {
    private func users(of app: AppClient) async throws -> AccountAdministration {
        AccountAdministration(client: try await AuthFixture.shared().postgres, app: app.app)
    }

    private func keys(of app: AppClient) async throws -> ServerKeys {
        ServerKeys(client: try await AuthFixture.shared().postgres, app: app.app)
    }

    private func login(_ app: AppClient, key: String) async throws -> AppClient.Answer {
        try await app.call(.post, "auth/providers/api-key/login", ["key": .string(key)])
    }

    @Test func `a server key signs in as a user of its own, of the type server`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app()
        let keys = try await keys(of: app)
        let key = try await keys.make(named: "importer")
        let tokens = try AppClient.tokens(try await login(app, key: key))
        let profile = try await app.auth(.get, "profile", token: tokens.access).json
        #expect(profile["type"] == "server" && profile["data"]?["name"] == "importer")
        #expect(profile["identities"]?[0]?["provider_type"] == "api-key")
        let payload = try #require(Base64URL.decode(String(tokens.access.split(separator: ".")[1])))
        #expect(try ExtendedJSON.parseDocument(payload)["user_type"] == "server")
        #expect(try AppClient.tokens(try await login(app, key: key)).user == tokens.user)
        let kinds = try await fixture.events(of: tokens.user, count: 3).map(\.kind)
        #expect(kinds == [.userCreated, .signedIn, .signedIn])
        await #expect(throws: AuthError.self) { try await keys.make(named: "importer") }
        await #expect(throws: AuthError.self) { try await keys.make(named: "with space") }
        #expect(try await keys.list().map { $0["user"] } == [.string(tokens.user)])
        let other = try await fixture.app()
        #expect(try await login(other, key: key).code == "AuthError")
    }

    @Test func `a disabled key's sessions end, and a deleted one is gone`() async throws {
        let app = try await AuthFixture.shared().app()
        let keys = try await keys(of: app)
        let key = try await keys.make(named: "worker")
        let tokens = try AppClient.tokens(try await login(app, key: key))
        try await keys.setDisabled(true, named: "worker")
        #expect(try await app.auth(.get, "profile", token: tokens.access).status == 401)
        #expect(try await login(app, key: key).code == "UserDisabled")
        try await keys.setDisabled(false, named: "worker")
        #expect(try await login(app, key: key).status == 200)
        try await keys.delete(named: "worker")
        #expect(try await login(app, key: key).code == "AuthError")
        await #expect(throws: AuthError.self) { try await keys.delete(named: "worker") }
        _ = try await keys.make(named: "worker")
    }

    @Test func `operators find, disable, enable, sign out and delete users`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app()
        let users = try await users(of: app)
        let tokens = try await app.newUser("op@example.org")
        let second = try await app.signIn("op@example.org")
        #expect(try await users.id(of: "op@example.org") == tokens.user)
        #expect(try await users.id(of: tokens.user) == tokens.user)
        #expect(try await users.id(of: "unknown") == nil)
        #expect(try await users.list(after: "", limit: 10).map { $0["id"] } == [.string(tokens.user)])
        let shown = try #require(try await users.user(tokens.user))
        #expect(shown["identities"]?[0]?["subject"] == "op@example.org")

        let sessions = try await users.sessions(ofUser: tokens.user)
        #expect(sessions.count == 2 && sessions.allSatisfy { $0["platform"] == "test" })
        let newest = try #require(sessions.first?["_id"]?.stringValue)
        try await users.endSession(newest, ofUser: tokens.user)
        #expect(try await app.refresh(second.refresh).status == 401)
        #expect(try await app.refresh(tokens.refresh).status == 201)
        await #expect(throws: AuthError.self) { try await users.endSession(newest, ofUser: tokens.user) }
        try await users.endSessions(ofUser: tokens.user)
        #expect(try await app.refresh(tokens.refresh).status == 401)

        try await users.setDisabled(true, tokens.user)
        #expect(try await app.login("op@example.org").code == "UserDisabled")
        #expect(try await fixture.shutOut(tokens.user) == [false])
        try await users.setDisabled(false, tokens.user)
        #expect(try await app.login("op@example.org").status == 200)
        try await users.delete(tokens.user)
        #expect(try await app.login("op@example.org").code == "InvalidPassword")
        #expect(try await fixture.shutOut(tokens.user) == [true])
        // The running service publishes what the tool wrote.
        let kinds = Set(try await fixture.events(of: tokens.user, count: 10).map(\.kind))
        #expect(kinds.isSuperset(of: [.userDisabled, .userEnabled, .userDeleted, .sessionRevoked]))
    }

    @Test func `an export has all of a user, and no secret`() async throws {
        let app = try await AuthFixture.shared().app()
        let tokens = try await app.newUser("mine@example.org")
        let made = try await app.auth(.post, "api_keys", ["name": "laptop"], token: tokens.refresh)
        let key = try #require(made.json["key"]?.stringValue)
        _ = try await app.call(
            .put, "push/providers/gcm/registration", ["registrationToken": "t-9"], token: tokens.access)
        let export = try #require(try await users(of: app).export(tokens.user))
        #expect(export["data"]?["email"] == "mine@example.org" && export["sessions"]?.arrayValue?.count == 1)
        #expect(export["apiKeys"]?[0]?["name"] == "laptop" && export["pushRegistrations"]?[0]?["token"] == "t-9")
        let text = ExtendedJSON.print(.document(export))
        #expect(!text.contains(key) && !text.contains("argon2") && !text.contains(tokens.device))
        #expect(try await users(of: app).export("unknown") == nil)
    }
}
