import DocumentModel
import DocumentStore
import EventTopics
import Logging
import Testing

@testable import Auth

@Suite struct IdleAccountsTests {
    private static let pending = #""autoConfirm": false, "emailConfirmationUrl": "https://app.example/confirm""#
    private static let days = 100

    private func sweep(_ fixture: AuthFixture, of app: AppClient, age: Duration = .seconds(90 * 86_400)) async throws {
        let accounts = Accounts(store: AccountStore(client: fixture.postgres), wakeOutbox: {}, clock: .system)
        // A lease of its own: the services may just be looking, too.
        try await IdleAccounts(
            users: Users(accounts: accounts, ends: SessionEnds(accounts: accounts)),
            leases: WorkLeases("idle-accounts-\(app.app)", client: fixture.postgres), age: age, metrics: AuthMetrics(),
            logger: Logger(label: "test")
        ).sweep()
    }

    /// Has all that the accounts of an app did be long ago.
    /// - Returns: that time.
    @discardableResult
    private func age(_ app: AppClient, _ fixture: AuthFixture) async throws -> Int64 {
        let time = WallClock.system.now() - Int64(Self.days) * 86_400_000
        for change in [
            "auth_users set created_at = $2, last_sign_in = $2 where last_sign_in is not null and app = $1",
            "auth_users set created_at = $2 where last_sign_in is null and app = $1",
            "auth_identities set created_at = $2 where app = $1",
            "auth_sessions set created_at = $2, seen_at = $2 where app = $1",
        ] {
            try await fixture.postgres.execute("update partita.\(change)", [.text(app.app), .int(time)])
        }
        return time
    }

    private func anonymous(_ app: AppClient) async throws -> AppClient.Tokens {
        try AppClient.tokens(
            try await app.call(.post, "auth/providers/anon-user/login", ["provider": "anon-user"]))
    }

    private func isThere(_ tokens: AppClient.Tokens, _ app: AppClient) async throws -> Bool {
        try await app.auth(.get, "profile", token: tokens.access).status == 200
    }

    @Test func `an anonymous account that nobody has used for long is deleted like any other`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app()
        let idle = try await anonymous(app), refreshed = try await anonymous(app), linked = try await anonymous(app)
        #expect(try await app.register("linked@example.org").status == 201)
        let link = try await app.call(
            .post, "auth/providers/local-userpass/login?link=true",
            ["username": "linked@example.org", "password": "password"], token: linked.access)
        #expect(link.status == 200)
        let named = try await app.newUser("named@example.org")
        try await age(app, fixture)
        #expect(try await app.refresh(refreshed.refresh).status == 201)
        let young = try await anonymous(app)

        try await sweep(fixture, of: app, age: .zero)
        #expect(try await isThere(idle, app))
        try await sweep(fixture, of: app)
        #expect(try await app.auth(.get, "profile", token: idle.access).code == "InvalidSession")
        #expect(try await fixture.shutOut(idle.user) == [true])
        let events = try await fixture.events(of: idle.user, count: 4)
        #expect(events.map(\.kind) == [.userCreated, .signedIn, .sessionRevoked, .userDeleted])
        for tokens in [refreshed, linked, named, young] { #expect(try await isThere(tokens, app)) }
    }

    @Test func `a registration that nobody has confirmed for long is forgotten`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app { $0.confirmation = Self.pending }
        #expect(try await app.register("old@example.org").status == 201)
        try await age(app, fixture)
        #expect(try await app.register("young@example.org").status == 201)
        try await sweep(fixture, of: app)
        #expect(try await app.register("old@example.org").status == 201)
        #expect(try await app.register("young@example.org").code == "AccountNameInUse")
    }

    @Test func `pages of accounts are looked through in their order, each account once`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app()
        var users: [String] = []
        for _ in 0..<3 { users.append(try await anonymous(app).user) }
        // All at the same time.
        let time = try await age(app, fixture)
        let tables = AccountStore(client: fixture.postgres).tables
        var place = AnonymousAccount(createdAt: time - 1, app: "", subject: "", userId: "", isIdle: false)
        var seen: [AnonymousAccount] = []
        while true {
            let page = try await tables.anonymousAccounts(before: time + 1, after: place, limit: 2)
            guard let last = page.last else { break }
            seen += page
            place = last
        }
        let own = seen.filter { $0.app == app.app }
        #expect(own.map(\.userId).sorted() == users.sorted())
        #expect(own.allSatisfy { $0.isIdle })
    }
}
