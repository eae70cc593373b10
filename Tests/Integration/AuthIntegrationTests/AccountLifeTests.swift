import AccessTokens
import DocumentModel
import EventTopics
import Foundation
import TestSupport
import Testing

@Suite struct AccountLifeTests {
    @Test func `an account lives from registering to deleting, and every step is an event in order`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app()
        let registered = try await app.register("ann@example.org")
        #expect(registered.status == 201)
        let tokens = try await app.signIn("ann@example.org")

        let profile = try await app.auth(.get, "profile", token: tokens.access)
        #expect(profile.status == 200)
        #expect(profile.json["user_id"]?.stringValue == tokens.user)
        #expect(profile.json["domain_id"]?.stringValue == app.app)
        #expect(profile.json["type"] == "normal")
        #expect(profile.json["data"]?["email"] == "ann@example.org")
        #expect(profile.json["identities"]?[0]?["provider_type"] == "local-userpass")

        let refreshed = try await app.refresh(tokens.refresh)
        #expect(refreshed.status == 201 && refreshed.json["access_token"]?.stringValue != nil)

        #expect(try await app.auth(.delete, "session", token: tokens.refresh).status == 204)
        let refused = try await app.refresh(tokens.refresh)
        #expect(refused.status == 401 && refused.code == "InvalidSession")

        let again = try await app.signIn("ann@example.org")
        #expect(again.user == tokens.user)
        #expect(try await app.auth(.delete, "delete", token: again.access).status == 204)
        #expect(try await app.login("ann@example.org").code == "InvalidPassword")
        #expect(try await app.auth(.get, "profile", token: again.access).code == "InvalidSession")

        let events = try await fixture.events(of: tokens.user, count: 6)
        #expect(events.map(\.kind) == [.userCreated, .signedIn, .signedOut, .signedIn, .sessionRevoked, .userDeleted])
        #expect(events.first?.app == app.app)
        #expect(events.first?.providers == ["local-userpass"])
        #expect(events.first?.user["data"]?["email"] == "ann@example.org")
        #expect(Set(events.map(\.id)).count == events.count)
    }

    @Test func `an access token is verified by the published keys and says who it is for`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app()
        let tokens = try await app.newUser("bob@example.org")
        let published = try await app.send(.get, "/.well-known/jwks.json", nil, token: nil, headers: [:])
        let keys = try TokenKeySet(jwks: try #require(published.json.documentValue))
        let now = Int64(Date().timeIntervalSince1970)
        let claims = try TokenVerifier(keys: keys).verify(tokens.access, app: app.app, now: now)
        #expect(claims.user == tokens.user && claims.device == tokens.device)
        // The end was stored with the session, and the token is signed slightly later, perhaps in the next second.
        #expect((1790...1800).contains(claims.expiresAt - claims.issuedAt))
        #expect(claims.data["email"] == "bob@example.org")
        #expect(throws: AccessTokenError.self) { try TokenVerifier(keys: keys).verify(tokens.refresh, now: now) }
    }

    @Test func `a location has the addresses to call, in the form that SDKs need`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app()
        let answer = try await app.call(.get, "location")
        #expect(answer.json["hostname"]?.stringValue == app.root)
        #expect(answer.json["ws_hostname"]?.stringValue == "ws://127.0.0.1:\(app.port)")
        #expect(answer.json["deployment_model"] == "LOCAL")
        #expect(answer.json["location"] == "DE-FF")
    }

    @Test func `two apps don't share their accounts`() async throws {
        let fixture = try await AuthFixture.shared()
        let first = try await fixture.app()
        let second = try await fixture.app()
        let tokens = try await first.newUser("same@example.org")
        #expect(try await second.login("same@example.org").code == "InvalidPassword")
        #expect(try await second.register("same@example.org").status == 201)
        let linked = try await second.call(
            .post, "auth/providers/local-userpass/login?link=true",
            ["username": "same@example.org", "password": "password"],
            token: tokens.access)
        #expect(linked.code == "InvalidSession")
        let unclear = try await second.call(
            .post, "auth/providers/local-userpass/login?link=maybe",
            ["username": "same@example.org", "password": "password"])
        #expect(unclear.status == 400 && unclear.code == "InvalidParameter")
    }

    @Test func `an anonymous user is a new one at each sign-in, and can be given an address later`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app()
        let login: Document = [
            "provider": "anon-user", "options": ["device": ["deviceId": "65a0000000000000000000ff"]],
        ]
        let first = try AppClient.tokens(try await app.call(.post, "auth/providers/anon-user/login", login))
        let second = try AppClient.tokens(try await app.call(.post, "auth/providers/anon-user/login", login))
        #expect(first.user != second.user)
        #expect(first.device == "65a0000000000000000000ff")

        #expect(try await app.register("late@example.org").status == 201)
        let linked = try await app.call(
            .post, "auth/providers/local-userpass/login?link=true",
            ["username": "late@example.org", "password": "password"],
            token: first.access)
        #expect(linked.json["user_id"]?.stringValue == first.user)
        #expect(try await app.signIn("late@example.org").user == first.user)
        let profile = try await app.auth(.get, "profile", token: first.access)
        #expect(profile.json["identities"]?.arrayValue?.count == 2)
        #expect(profile.json["data"]?["email"] == "late@example.org")
        let events = try await fixture.events(of: first.user, count: 3)
        #expect(events.contains { $0.kind == .identityLinked })

        // An address that another account uses stays with it.
        let taken = try await app.newUser("taken@example.org")
        let refused = try await app.call(
            .post, "auth/providers/local-userpass/login?link=true",
            ["username": "taken@example.org", "password": "password"],
            token: second.access)
        #expect(refused.code == "AccountNameInUse")
        #expect(try await app.signIn("taken@example.org").user == taken.user)
        // A user has one address and password.
        #expect(try await app.register("more@example.org").status == 201)
        let more = try await app.call(
            .post, "auth/providers/local-userpass/login?link=true",
            ["username": "more@example.org", "password": "password"], token: first.access)
        #expect(more.code == "BadRequest", "\(more.json)")
        #expect(try await app.signIn("more@example.org").user != first.user)
    }

    @Test func `those who sign in for the first time at once are one user`() async throws {
        let app = try await AuthFixture.shared().app()
        let users = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    try AppClient.tokens(
                        try await app.call(.post, "auth/providers/custom-function/login", ["name": "many"])
                    ).user
                }
            }
            return try await group.reduce(into: [String]()) { $0.append($1) }
        }
        #expect(users.count == 8 && users.allSatisfy { $0 == users[0] })
    }

    @Test func `a function of the app authenticates a user`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app()
        let path = "auth/providers/custom-function/login"
        let first = try AppClient.tokens(try await app.call(.post, path, ["name": "zoe", "options": ["device": [:]]]))
        let again = try AppClient.tokens(try await app.call(.post, path, ["name": "zoe"]))
        #expect(first.user == again.user)
        #expect(TestFunctions.lastArgument(app: app.app)?["options"] == nil)
        #expect(try await app.auth(.get, "profile", token: first.access).json["data"]?["name"] == "zoe")
        #expect(try await app.call(.post, path, ["nobody": true]).code == "AuthError")
        // Functions return the `_id` of a document in each of these ways.
        let id = ObjectId()
        var users: Set<ExactText> = []
        for answer in [Value.objectId(id), ["id": .objectId(id)], .string(id.hexString)] {
            let signIn = try await app.call(.post, path, ["document": answer])
            users.insert(ExactText(try AppClient.tokens(signIn).user))
        }
        #expect(users.count == 1)
        #expect(try await app.call(.post, path, ["document": ["id": 5]]).code == "AuthError")
    }
}
