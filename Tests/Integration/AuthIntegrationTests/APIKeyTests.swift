import DocumentModel
import TestSupport
import Testing

@Suite struct APIKeyTests {
    private func login(_ app: AppClient, _ key: String) async throws -> AppClient.Answer {
        try await app.call(.post, "auth/providers/api-key/login", ["key": .string(key), "provider": "api-key"])
    }

    @Test func `a key signs in as its user until it is disabled or deleted`() async throws {
        let app = try await AuthFixture.shared().app()
        let tokens = try await app.newUser("keys@example.org")
        let made = try await app.auth(.post, "api_keys", ["name": "laptop"], token: tokens.refresh)
        #expect(made.status == 201 && made.json["disabled"] == false && made.json["name"] == "laptop")
        let id = try #require(made.json["_id"]?.stringValue), key = try #require(made.json["key"]?.stringValue)
        #expect(try AppClient.tokens(try await login(app, key)).user == tokens.user)
        let linked = try await app.call(
            .post, "auth/providers/api-key/login?link=true", ["key": .string(key)], token: tokens.access)
        #expect(linked.code == "BadRequest")

        let list = try await app.auth(.get, "api_keys", token: tokens.refresh)
        #expect(list.json.arrayValue?.count == 1)
        #expect(list.json[0]?["key"] == nil)
        #expect(try await app.auth(.get, "api_keys/\(id)", token: tokens.refresh).json["_id"]?.stringValue == id)

        #expect(try await app.auth(.put, "api_keys/\(id)/disable", token: tokens.refresh).status == 204)
        #expect(try await login(app, key).code == "AuthError")
        #expect(try await app.auth(.put, "api_keys/\(id)/enable", token: tokens.refresh).status == 204)
        #expect(try await login(app, key).status == 200)
        #expect(try await app.auth(.delete, "api_keys/\(id)", token: tokens.refresh).status == 204)
        #expect(try await login(app, key).code == "AuthError")
        #expect(try await app.auth(.get, "api_keys/\(id)", token: tokens.refresh).code == "APIKeyNotFound")
    }

    @Test func `a key may sign in many times at once`() async throws {
        let app = try await AuthFixture.shared().app()
        let tokens = try await app.newUser("fleet@example.org")
        let made = try await app.auth(.post, "api_keys", ["name": "fleet"], token: tokens.refresh)
        let key = try #require(made.json["key"]?.stringValue)
        let answers = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<15 { group.addTask { try await login(app, key).status } }
            return try await group.reduce(into: [Int]()) { $0.append($1) }
        }
        #expect(answers == Array(repeating: 200, count: 15))
    }

    @Test func `a user who signs in again and again keeps a limited number of sessions`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app()
        let tokens = try await app.newUser("many@example.org")
        // As if the user had signed in so often, an hour ago.
        try await fixture.postgres.execute(
            """
            insert into partita.auth_sessions (id, app, user_id, device, provider, token_id, advanced_at, created_at, expires_at,
                access_expires_at, seen_at)
            select s.id || '-' || n, app, user_id, device, provider, s.id || '-' || n, advanced_at, created_at, expires_at,
                access_expires_at, created_at - 3600000 + n
            from partita.auth_sessions s, generate_series(1, 600) n where app = $1 and user_id = $2
            """, [.text(app.app), .text(tokens.user)])
        let next = try await app.signIn("many@example.org")
        let live = try await fixture.postgres.query(
            """
            select count(*), min(split_part(id, '-', 2)::int) filter (where id like '%-%') from partita.auth_sessions
            where app = $1 and user_id = $2 and revoked_at is null
            """, [.text(app.app), .text(tokens.user)]
        )[0].decode((Int, Int).self)
        // With the first one and the last, 498 of the others.
        #expect(live == (500, 103))
        for token in [tokens, next] { #expect(try await app.refresh(token.refresh).status == 201) }
    }

    /// As a reset does, which locks the user, then ends sessions and disables keys.
    @Test func `a key isn't made in a session that ends meanwhile`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app()
        let tokens = try await app.newUser("keys@example.org")
        let made = try await app.auth(.post, "api_keys", ["name": "first"], token: tokens.refresh)
        let id = try #require(made.json["_id"]?.stringValue)
        #expect(try await app.auth(.put, "api_keys/\(id)/disable", token: tokens.refresh).status == 204)
        let calls = try await fixture.postgres.withTransaction { transaction in
            try await transaction.execute(
                "select from partita.auth_users where app = $1 and id = $2 for update",
                [.text(app.app), .text(tokens.user)])
            let calls = [
                Task { try await app.auth(.post, "api_keys", ["name": "second"], token: tokens.refresh) },
                Task { try await app.auth(.put, "api_keys/\(id)/enable", token: tokens.refresh) },
            ]
            try await eventually("both wait", within: .seconds(30)) {
                let waiting = try await fixture.postgres.query(
                    """
                    select count(*) from pg_stat_activity
                    where datname = current_database() and wait_event_type = 'Lock' and query ilike '%auth_users%'
                    """)
                return try waiting.first?.decode(0, as: Int.self) ?? 0 >= 2
            }
            try await transaction.execute(
                "update partita.auth_sessions set revoked_at = 1 where app = $1 and user_id = $2",
                [.text(app.app), .text(tokens.user)])
            return calls
        }
        for call in calls { #expect(try await call.value.code == "InvalidSession") }
        let keys = try await fixture.postgres.query(
            "select count(*), count(*) filter (where is_disabled) from partita.auth_api_keys where app = $1 and user_id = $2",
            [.text(app.app), .text(tokens.user)]
        )[0].decode((Int, Int).self)
        #expect(keys == (1, 1))
    }

    @Test(arguments: ["disabled", "deleted"])
    func `a removed key takes with it what was created with it`(_ end: String) async throws {
        let app = try await AuthFixture.shared().app()
        let owner = try await app.newUser("keys@example.org")
        func make(_ name: String, _ token: String) async throws -> (id: String, key: String) {
            let made = try await app.auth(.post, "api_keys", ["name": .string(name)], token: token)
            return (try #require(made.json["_id"]?.stringValue), try #require(made.json["key"]?.stringValue))
        }
        let leaked = try await make("leaked", owner.refresh), other = try await make("other", owner.refresh)
        let thief = try AppClient.tokens(try await login(app, leaked.key))
        let child = try await make("child", thief.refresh)
        let grandchild = try await make("grandchild", try AppClient.tokens(try await login(app, child.key)).refresh)
        let session = try AppClient.tokens(try await login(app, grandchild.key))
        let ended =
            end == "deleted"
            ? try await app.auth(.delete, "api_keys/\(leaked.id)", token: owner.refresh)
            : try await app.auth(.put, "api_keys/\(leaked.id)/disable", token: owner.refresh)
        #expect(ended.status == 204)
        for key in [leaked, child, grandchild] { #expect(try await login(app, key.key).code == "AuthError") }
        #expect(try await app.auth(.get, "api_keys", token: session.refresh).code == "InvalidSession")
        #expect(try await login(app, other.key).status == 200)
        #expect(try await app.auth(.get, "api_keys", token: owner.refresh).status == 200)
    }

    @Test func `names of keys are unique, and keys are managed with the refresh token only`() async throws {
        let app = try await AuthFixture.shared().app()
        let tokens = try await app.newUser("keys@example.org")
        #expect(try await app.auth(.post, "api_keys", ["name": "one"], token: tokens.refresh).status == 201)
        #expect(
            try await app.auth(.post, "api_keys", ["name": "one"], token: tokens.refresh).code == "APIKeyAlreadyExists")
        #expect(try await app.auth(.post, "api_keys", ["name": "two"], token: tokens.access).code == "InvalidSession")
        #expect(try await app.auth(.post, "api_keys", ["name": ""], token: tokens.refresh).code == "InvalidParameter")
        let other = try await app.newUser("others@example.org")
        #expect(try await app.auth(.get, "api_keys", token: other.refresh).json.arrayValue?.isEmpty == true)
    }
}
