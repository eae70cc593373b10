import DocumentModel
import EventTopics
import TestSupport
import Testing

@Suite struct SessionTests {
    private func refreshed(_ app: AppClient, _ token: String) async throws -> String {
        let answer = try await app.refresh(token)
        guard answer.status == 201, let next = answer.json["refresh_token"]?.stringValue else {
            throw UnexpectedAnswer(answer: answer)
        }
        return next
    }

    @Test func `a client that keeps its first refresh token can go on using it`() async throws {
        let app = try await AuthFixture.shared().app()
        let tokens = try await app.newUser("realm@example.org")
        for _ in 0..<3 { _ = try await refreshed(app, tokens.refresh) }
        #expect(try await app.refresh(tokens.refresh).status == 201)
    }

    /// Such a path names no app: the token does.
    @Test func `a page of an origin that the token's app doesn't allow is refused`() async throws {
        let app = try await AuthFixture.shared().app { $0.origins = ["https://own.example"] }
        let tokens = try await app.newUser("page@example.org")
        let calls: [(AppClient.Method, String, String)] = [
            (.get, "profile", tokens.access), (.post, "session", tokens.refresh), (.get, "sessions", tokens.refresh),
        ]
        for (method, path, token) in calls {
            let refused = try await app.auth(method, path, token: token, headers: ["Origin": "https://evil.example"])
            #expect(refused.status == 403 && refused.json["error_code"] == "OriginNotAllowed", "\(path)")
            let allowed = try await app.auth(method, path, token: token, headers: ["Origin": "https://own.example"])
            #expect((200...201).contains(allowed.status), "\(path)")
        }
    }

    @Test func `a client that rotates its refresh token goes from one to the next`() async throws {
        let app = try await AuthFixture.shared().app()
        var token = try await app.newUser("rotating@example.org").refresh
        for _ in 0..<4 { token = try await refreshed(app, token) }
        #expect(try await app.refresh(token).status == 201)
    }

    @Test func `after a lost answer the previous token works for a while`() async throws {
        let app = try await AuthFixture.shared().app()
        let first = try await app.newUser("lossy@example.org").refresh
        let second = try await refreshed(app, first)
        _ = try await refreshed(app, second)
        let given = try await refreshed(app, first)
        #expect(try await app.refresh(second).status == 201)
        // It is the newest that this client has.
        #expect(try await app.refresh(try await refreshed(app, given)).status == 201)
    }

    @Test func `a superseded refresh token ends the session and publishes an event`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app()
        let tokens = try await app.newUser("stolen@example.org")
        let second = try await refreshed(app, tokens.refresh)
        let third = try await refreshed(app, second)
        let reused = try await ClockShift.ahead(fixture, by: 31) {
            try await fixture.later(app).refresh(tokens.refresh)
        }
        #expect(reused.status == 401 && reused.code == "InvalidSession")
        // The thief and the owner are both out.
        #expect(try await app.refresh(third).code == "InvalidSession")
        #expect(try await app.auth(.get, "profile", token: tokens.access).code == "InvalidSession")
        let events = try await fixture.events(of: tokens.user, count: 3)
        #expect(events.map(\.kind) == [.userCreated, .signedIn, .sessionRevoked])
    }

    @Test func `two successors of one refresh token can't both stay valid`() async throws {
        let app = try await AuthFixture.shared().app()
        let first = try await app.newUser("siblings@example.org").refresh
        let owners = try await refreshed(app, first)
        let thiefs = try await refreshed(app, first)
        #expect(try await app.refresh(thiefs).status == 201)
        #expect(try await app.refresh(owners).code == "InvalidSession")
        #expect(try await app.refresh(thiefs).code == "InvalidSession")
    }

    @Test func `sessions of two devices are independent`() async throws {
        let app = try await AuthFixture.shared().app()
        let phone = try await app.newUser("both@example.org")
        let tablet = try await app.signIn("both@example.org")
        #expect(phone.device != tablet.device)
        #expect(try await app.auth(.delete, "session", token: phone.refresh).status == 204)
        #expect(try await app.refresh(phone.refresh).code == "InvalidSession")
        #expect(try await app.refresh(tablet.refresh).status == 201)
    }

    @Test func `tokens expire, the access token before the refresh token`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app()
        let tokens = try await app.newUser("patient@example.org")
        let later = fixture.later(app)
        let access = try await ClockShift.ahead(fixture, by: 1801) {
            try await later.auth(.get, "profile", token: tokens.access)
        }
        #expect(access.code == "InvalidSession")
        #expect(access.json["error"] == "invalid session: token-expired")
        let refresh = try await ClockShift.ahead(fixture, by: 2401) {
            try await later.refresh(tokens.refresh)
        }
        #expect(refresh.code == "InvalidSession")
        #expect(try await app.refresh(tokens.refresh).status == 201)
    }

    @Test func `many refreshes at once all succeed`() async throws {
        let app = try await AuthFixture.shared().app()
        let token = try await app.newUser("parallel@example.org").refresh
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<8 { group.addTask { try await app.refresh(token).status } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses == [Int](repeating: 201, count: 8))
    }
}
