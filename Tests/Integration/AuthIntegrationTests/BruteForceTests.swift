import DocumentModel
import TestSupport
import Testing

@Suite struct BruteForceTests {
    /// Guesses until it is refused. On a slow machine a wait may end before the next guess, so more than the free guesses may pass;
    /// each one doubles the wait.
    ///
    /// - Returns: how many guesses were accepted, and the refusal.
    private func guess(
        _ email: String, _ app: AppClient, device: String? = nil, from address: (Int) -> String?
    ) async throws -> (taken: Int, refusal: AppClient.Answer) {
        for taken in 0..<100 {
            let answer = try await app.login(email, "a guess", device: device, from: address(taken))
            if answer.status == 429 { return (taken, answer) }
            #expect(answer.code == "InvalidPassword")
        }
        throw NeverRefused()
    }

    private struct NeverRefused: Error {}

    @Test func `guessing a password is slowed down, for accounts that exist and for those that don't`() async throws {
        let app = try await AuthFixture.shared().app()
        #expect(try await app.register("target@example.org").status == 201)
        for email in ["target@example.org", "ghost@example.org"] {
            let (taken, refused) = try await guess(email, app) { _ in nil }
            #expect(taken >= 5 && refused.code == "TooManyRequests")
            #expect(refused.header("Retry-After").flatMap { Int($0) } ?? 0 > 0)
        }
        // Other accounts aren't affected, and the owner can sign in when the wait is over.
        #expect(try await app.register("other@example.org").status == 201)
        #expect(try await app.login("other@example.org").status == 200)
        try await eventually("the owner signs in", within: .seconds(60)) {
            try await app.login("target@example.org").status == 200
        }
        // A success clears the count.
        for _ in 0..<5 { #expect(try await app.login("target@example.org", "a guess").code == "InvalidPassword") }
    }

    @Test func `a stranger's guesses don't keep the owner out`() async throws {
        let app = try await AuthFixture.shared().app()
        #expect(try await app.register("owner@example.org").status == 201)
        let (taken, _) = try await guess("owner@example.org", app) { _ in "198.51.100.7" }
        #expect(taken >= 5)
        // From elsewhere, with an unknown device.
        #expect(try await app.login("owner@example.org", from: "203.0.113.9").status == 200)
    }

    /// Guesses from ever new networks, until the account's own budget is used up.
    private func besiege(_ email: String, _ app: AppClient) async throws {
        let (taken, _) = try await guess(email, app) { "2001:db8:\($0)::1" }
        #expect(taken >= 20)
    }

    /// Whether a device is refused earlier than by its own count, from networks without guesses.
    private func isRefusedAtOnce(_ device: String, _ email: String, _ app: AppClient) async throws -> Bool {
        for i in 0..<4 {
            let answer = try await app.login(email, "a guess", device: device, from: "2001:db8:ffff:\(i)::1")
            if answer.status == 429 { return true }
        }
        return false
    }

    @Test func `guesses from many addresses slow down unknown devices, and not a known one`() async throws {
        let app = try await AuthFixture.shared().app()
        let email = "besieged@example.org"
        #expect(try await app.register(email).status == 201)
        let device = try AppClient.tokens(try await app.login(email, from: "203.0.113.9")).device
        try await besiege(email, app)
        #expect(try await app.login(email, device: device, from: "198.51.100.8").status == 200)
        #expect(try await isRefusedAtOnce(ObjectId().hexString, email, app))
        #expect(try await !isRefusedAtOnce(device, email, app))
        // A known device's guesses are limited, too.
        _ = try await guess(email, app, device: device) { "198.51.100.\($0)" }
    }

    @Test func `a device that signed out stays known; one whose session was ended elsewhere doesn't`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app()
        let email = "evicted-\(ObjectId().hexString)@example.org"
        let thief = try await app.newUser(email)
        #expect(try await app.admin(.delete, "/\(thief.user)/sessions").status == 204)
        let owner = try await app.signIn(email)
        #expect(try await app.auth(.delete, "session", token: owner.refresh).status == 204)
        try await besiege(email, app)
        #expect(try await isRefusedAtOnce(thief.device, email, app))
        #expect(try await app.login(email, device: owner.device, from: "198.51.100.8").status == 200)
    }

    @Test func `an IPv6 network counts as one address`() async throws {
        let app = try await AuthFixture.shared().app()
        let (taken, _) = try await guess("net@example.org", app) { "2001:db8:1:2::\($0)" }
        // Before the account's own budget, which is 20 here.
        #expect((5..<20).contains(taken))
    }

    @Test func `many concurrent guesses don't bypass the limit`() async throws {
        let app = try await AuthFixture.shared().app()
        let start = ContinuousClock.now
        let codes = try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<20 { group.addTask { try await app.login("burst@example.org", "a guess").code } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        // After five, one more may pass after 1, 2, 4, … seconds.
        var passed = 5
        var waited = Duration.seconds(1)
        while waited <= ContinuousClock.now - start {
            passed += 1
            waited += .seconds(1 << (passed - 5))
        }
        #expect((5...passed).contains(codes.count { $0 == "InvalidPassword" }))
        #expect(codes.allSatisfy { $0 == "InvalidPassword" || $0 == "TooManyRequests" })
    }

    @Test func `behind two proxies an attacker's failures count for the attacker only`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app()
        #expect(try await app.register("victim@example.org").status == 201)
        var values = AuthFixture.values(
            fixture.engines, database: fixture.database, pool: fixture.pool, mailFolder: fixture.mailFolder)
        values["http.trusted-proxies"] = "2"
        values["auth.freeAttemptsPerAddress"] = "10"
        let hosted = try await HostedAuth(values, functions: TestFunctions.caller)
        let inFront = AppClient(port: hosted.port, app: app.app)
        // As a load balancer and the proxy behind it write it, with what the client wrote itself in front.
        func login(from client: String, _ email: String, _ password: String) async throws -> AppClient.Answer {
            try await inFront.call(
                .post, "auth/providers/local-userpass/login",
                ["username": .string(email), "password": .string(password)],
                headers: ["X-Forwarded-For": "203.0.113.\(Int.random(in: 0...255)), \(client), 10.1.2.3"])
        }
        var codes: [String?] = []
        for number in 0..<30 {
            codes.append(try await login(from: "198.51.100.66", "nobody\(number)@example.org", "x").code)
        }
        #expect(codes.contains("TooManyRequests"))
        #expect(try await login(from: "198.51.100.7", "victim@example.org", "password").status == 200)
    }
}
