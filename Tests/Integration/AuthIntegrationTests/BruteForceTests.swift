import DocumentModel
import TestSupport
import Testing

@Suite struct BruteForceTests {
    @Test func `guessing a password is slowed down, for accounts that exist and for those that don't`() async throws {
        let app = try await AuthFixture.shared().app()
        #expect(try await app.register("target@example.org").status == 201)
        for email in ["target@example.org", "ghost@example.org"] {
            for _ in 0..<5 { #expect(try await app.login(email, "a guess").code == "InvalidPassword") }
            let refused = try await app.login(email, "a guess")
            #expect(refused.status == 429 && refused.code == "TooManyRequests")
            #expect(refused.header("Retry-After") == "1")
        }
        // Others aren't touched, and the owner comes in when the wait is over.
        #expect(try await app.register("other@example.org").status == 201)
        #expect(try await app.login("other@example.org").status == 200)
        try await eventually("the owner signs in") { try await app.login("target@example.org").status == 200 }
        // A success clears the count.
        for _ in 0..<5 { #expect(try await app.login("target@example.org", "a guess").code == "InvalidPassword") }
    }

    @Test func `many guesses at once don't slip through together`() async throws {
        let app = try await AuthFixture.shared().app()
        let codes = try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<20 { group.addTask { try await app.login("burst@example.org", "a guess").code } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(codes.count { $0 == "InvalidPassword" } == 5)
        #expect(codes.count { $0 == "TooManyRequests" } == 15)
    }
}
