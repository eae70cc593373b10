import DocumentModel
import EventLoop
import TestSupport
import Testing

@testable import Auth

/// The work that strangers can cause in auth is bounded per address and per app.
@Suite struct BudgetTests {
    /// An auth service with small bounds and slow password hashes, and an app that it knows.
    private static func strict() async throws -> AppClient {
        let fixture = try await AuthFixture.shared()
        let auth = try await holder.auth()
        let app = AppClient(port: auth.port, app: try await fixture.app().app)
        try await eventually("the app is known") { try await app.call(.get, "location").status == 200 }
        return app
    }

    private static let holder = Holder()

    private actor Holder {
        private var made: Task<HostedAuth, any Error>?

        func auth() async throws -> HostedAuth {
            let task =
                made
                ?? Task {
                    let fixture = try await AuthFixture.shared()
                    var values = AuthFixture.values(
                        fixture.engines, database: fixture.database, pool: fixture.pool, mailFolder: fixture.mailFolder)
                    values["auth.anonymousPerAddress"] = "3"
                    values["auth.registrationsPerAddress"] = "3"
                    values["auth.refreshesPerSession"] = "3"
                    values["auth.passwordThreads"] = "1"
                    values["auth.passwordQueue"] = "10"
                    values["auth.passwordOperations"] = "2"
                    values["auth.passwordMemory"] = "32MiB"
                    return try await HostedAuth(values, functions: nil, clock: .system)
                }
            made = task
            return try await task.value
        }
    }

    /// The statuses of this many concurrent calls.
    private func statuses(
        _ count: Int, _ call: @escaping @Sendable (Int) async throws -> AppClient.Answer
    ) async throws -> [AppClient.Answer] {
        try await withThrowingTaskGroup(of: AppClient.Answer.self) { group in
            for i in 0..<count { group.addTask { try await call(i) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    private func expectSomeRefused(
        _ answers: [AppClient.Answer], ok: Int, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let refused = answers.filter { $0.status == 429 }
        #expect(!refused.isEmpty && refused.count < answers.count, sourceLocation: sourceLocation)
        #expect(answers.allSatisfy { $0.status == ok || $0.status == 429 }, sourceLocation: sourceLocation)
        for answer in refused {
            #expect(answer.code == "TooManyRequests", sourceLocation: sourceLocation)
            #expect(answer.header("Retry-After").flatMap { Int($0) } ?? 0 > 0, sourceLocation: sourceLocation)
        }
    }

    @Test func `the number of anonymous users is bounded per address`() async throws {
        let app = try await Self.strict()
        let login: @Sendable (String) async throws -> AppClient.Answer = {
            try await app.call(
                .post, "auth/providers/anon-user/login", ["provider": "anon-user"], headers: ["X-Forwarded-For": $0])
        }
        let answers = try await statuses(20) { _ in try await login("198.51.100.1") }
        expectSomeRefused(answers, ok: 200)
        #expect(try await login("198.51.100.2").status == 200)
    }

    @Test func `the number of registrations is bounded per address`() async throws {
        let app = try await Self.strict()
        let register: @Sendable (Int, String) async throws -> AppClient.Answer = {
            try await app.call(
                .post, "auth/providers/local-userpass/register",
                ["email": .string("new-\($0)@example.org"), "password": "password"], headers: ["X-Forwarded-For": $1])
        }
        var answers: [AppClient.Answer] = []
        for i in 0..<20 where !answers.contains(where: { $0.status == 429 }) {
            // One after the other: the queue for passwords has bounds of its own.
            answers.append(try await register(i, "198.51.100.1"))
        }
        expectSomeRefused(answers, ok: 201)
        #expect(try await register(100, "198.51.100.2").status == 201)
    }

    @Test func `one session's refreshes are bounded, and another session isn't affected`() async throws {
        let app = try await Self.strict()
        let anonymous: @Sendable (String) async throws -> AppClient.Tokens = {
            try AppClient.tokens(
                try await app.call(
                    .post, "auth/providers/anon-user/login", ["provider": "anon-user"],
                    headers: ["X-Forwarded-For": $0]))
        }
        let busy = try await anonymous("198.51.100.1"), other = try await anonymous("198.51.100.2")
        let answers = try await statuses(20) { _ in try await app.refresh(busy.refresh) }
        expectSomeRefused(answers, ok: 201)
        #expect(try await app.refresh(other.refresh).status == 201)
    }

    @Test func `the surplus of a flood of sign-ins from one address is refused, and others can sign in`()
        async throws
    {
        let app = try await Self.strict()
        #expect(try await app.register("calm@example.org").status == 201)
        let isOver = Locked(false)
        let refused = Locked<[AppClient.Answer]>([])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for i in 0..<12 {
                group.addTask {
                    var attempt = 0
                    while !isOver.withLock({ $0 }) {
                        attempt += 1
                        let answer = try await app.login("flood-\(i)-\(attempt)@example.org", from: "198.51.100.1")
                        if answer.status != 401 { refused.withLock { $0.append(answer) } }
                    }
                }
            }
            defer { isOver.withLock { $0 = true } }
            try await eventually("the flood is refused", within: .seconds(60)) { !refused.withLock { $0.isEmpty } }
            for _ in 0..<3 {
                #expect(try await app.login("calm@example.org", from: "203.0.113.1").status == 200)
                // It is refused without a turn: the token is checked first.
                let reset = try await app.call(
                    .post, "auth/providers/local-userpass/reset",
                    ["token": "a", "tokenId": "b", "password": "password"], headers: ["X-Forwarded-For": "198.51.100.1"]
                )
                #expect(reset.code == "UserpassTokenInvalid")
            }
        }
        for answer in refused.withLock({ $0 }) {
            #expect(answer.status == 429 && answer.header("Retry-After").flatMap { Int($0) } ?? 0 > 0)
        }
    }
}
