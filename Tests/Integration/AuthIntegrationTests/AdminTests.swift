import DocumentModel
import EventTopics
import TestSupport
import Testing

@Suite struct AdminTests {
    @Test func `an administrator sees users page by page`() async throws {
        let app = try await AuthFixture.shared().app()
        var ids: [String] = []
        for name in ["a", "b", "c"] { ids.append(try await app.newUser("\(name)@example.org").user) }
        let first = try await app.admin(.get, "?limit=2")
        #expect(first.json["users"]?.arrayValue?.compactMap { $0["id"]?.stringValue } == Array(ids.sorted().prefix(2)))
        let rest = try await app.admin(.get, "?limit=2&after=\(ids.sorted()[1])")
        #expect(rest.json["users"]?.arrayValue?.count == 1)
        for limit in ["0", "501", "x", ""] {
            #expect(try await app.admin(.get, "?limit=\(limit)").code == "InvalidParameter")
        }
        let one = try await app.admin(.get, "/\(ids[0])")
        #expect(
            one.json["data"]?["email"] == "a@example.org" && one.json["disabled"] == false
                && one.json["pending"] == false)
        #expect(one.json["lastSignIn"]?.dateValue != nil)
    }

    @Test func `a disabled user is out at once and can't sign in again`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app()
        let tokens = try await app.newUser("bad@example.org")
        #expect(try await app.admin(.put, "/\(tokens.user)/disable").status == 204)
        #expect(try await fixture.shutOut(tokens.user) == [false])
        #expect(try await app.refresh(tokens.refresh).status == 401)
        let refused = try await app.login("bad@example.org")
        #expect(refused.status == 403 && refused.code == "UserDisabled")
        #expect(try await app.admin(.put, "/\(tokens.user)/enable").status == 204)
        #expect(try await fixture.shutOut(tokens.user).isEmpty)
        #expect(try await app.login("bad@example.org").status == 200)
        let kinds = try await fixture.events(of: tokens.user, count: 6).map(\.kind)
        #expect(kinds == [.userCreated, .signedIn, .sessionRevoked, .userDisabled, .userEnabled, .signedIn])
    }

    @Test func `an administrator ends sessions and deletes users`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app()
        let tokens = try await app.newUser("gone@example.org")
        #expect(try await app.admin(.delete, "/\(tokens.user)/sessions").status == 204)
        #expect(try await app.refresh(tokens.refresh).code == "InvalidSession")
        #expect(try await app.admin(.delete, "/\(tokens.user)").status == 204)
        #expect(try await fixture.shutOut(tokens.user) == [true])
        #expect(try await app.admin(.delete, "/\(tokens.user)").code == "UserNotFound")
        #expect(try await app.admin(.get, "/\(tokens.user)").code == "UserNotFound")
        #expect(try await app.login("gone@example.org").code == "InvalidPassword")
    }

    @Test(arguments: [nil, "", "wrong", AuthFixture.adminToken + "x"])
    func `without the token nothing is disclosed`(token: String?) async throws {
        let app = try await AuthFixture.shared().app()
        let answer = try await app.admin(.get, "", token: token)
        #expect(answer.status == 401 && answer.code == "MissingAuthReq")
    }
}
