import EventLoop
import TestSupport
import Testing

@testable import Auth

/// While Redis is unavailable, auth continues, and its limits still apply.
@Suite struct WithoutRedisTests {
    private static let holder = Holder()

    /// An auth service whose Redis is unavailable.
    private actor Holder {
        private var made: Task<HostedAuth, any Error>?

        func auth() async throws -> HostedAuth {
            let task =
                made
                ?? Task {
                    let fixture = try await AuthFixture.shared()
                    var values = AuthFixture.values(
                        fixture.engines, database: fixture.database, pool: fixture.pool, mailFolder: fixture.mailFolder)
                    values["redis.url"] = "redis://127.0.0.1:1"
                    values["auth.anonymousPerAddress"] = "3"
                    return try await HostedAuth(values, functions: nil, clock: .system)
                }
            made = task
            return try await task.value
        }
    }

    private func app() async throws -> AppClient {
        let fixture = try await AuthFixture.shared()
        let auth = try await Self.holder.auth()
        let app = AppClient(port: auth.port, app: try await fixture.app().app)
        try await eventually("the app is known") { try await app.call(.get, "location").status == 200 }
        return app
    }

    @Test func `guessing is slowed down, and a user who knows the password can sign in`() async throws {
        let app = try await app()
        #expect(try await app.register("target@example.org").status == 201)
        #expect(try await app.login("target@example.org").status == 200)
        var answers: [AppClient.Answer] = []
        while answers.count < 100, answers.last?.status != 429 {
            answers.append(try await app.login("target@example.org", "a guess"))
        }
        let refused = try #require(answers.last)
        #expect(refused.status == 429 && refused.code == "TooManyRequests" && answers.count > 5)
        #expect(refused.header("Retry-After").flatMap { Int($0) } ?? 0 > 0)
        // Other accounts aren't affected, and the owner can sign in when the wait is over.
        #expect(try await app.register("other@example.org").status == 201)
        #expect(try await app.login("other@example.org").status == 200)
        try await eventually("the owner signs in", within: .seconds(60)) {
            try await app.login("target@example.org").status == 200
        }
        // A success clears the count.
        for _ in 0..<5 { #expect(try await app.login("target@example.org", "a guess").code == "InvalidPassword") }
    }

    @Test func `accounts that strangers create stay bounded`() async throws {
        let app = try await app()
        var statuses: [Int] = []
        for _ in 0..<30 { statuses.append(try await app.call(.post, "auth/providers/anon-user/login", [:]).status) }
        #expect(statuses.contains(200) && statuses.contains(429), "\(statuses)")
    }

    @Test func `counters in memory are bounded, and expire`() {
        var counts = LocalCounts()
        #expect(counts.now >= 0)
        for number in 0..<250_000 { counts.set("\(number)", .init(count: 1), memory: 60_000) }
        #expect(counts.size <= 100_000)
        #expect(counts["249999"].count == 1)
        counts.set("past", .init(count: 3), memory: -1)
        #expect(counts["past"].count == 0)
    }
}
