import DocumentModel
import EventLoop
import EventStream
import EventTopics
import Kafka
import TestSupport
import Testing

@testable import Auth

@Suite struct PushTests {
    private func register(_ app: AppClient, _ token: String, _ user: AppClient.Tokens, service: String = "gcm")
        async throws -> AppClient.Answer
    {
        try await app.call(
            .put, "push/providers/\(service)/registration", ["registrationToken": .string(token)], token: user.access)
    }

    private func registered(_ app: AppClient) async throws -> [String] {
        try await AuthFixture.shared().postgres.query(
            "SELECT token FROM partita.auth_push_registrations WHERE app = $1 AND token IS NOT NULL ORDER BY token",
            [.text(app.app)]
        ).decode(String.self)
    }

    @Test func `a registration is a row and an event, and so is its end`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app()
        let events = Locked<[PushRegistrationEvent]>([])
        let tail = EventTail<PushRegistrationEvent>(
            pool: fixture.pool, kafka: KafkaClient(configuration: fixture.engines.kafka)
        ) { received in
            let decoded = try received.filter { $0.message.value != nil }
                .map { try ReceivedEvent<PushRegistrationEvent>($0.message).payload }
            events.withLock { $0 += decoded.filter { $0.app.hasSameBytes(as: app.app) } }
        }
        let running = Task { try await tail.run() }
        defer { running.cancel() }
        try await tail.waitUntilPositioned()

        let user = try await app.newUser("push@example.org")
        #expect(try await register(app, "t-1", user).status == 204)
        #expect(try await register(app, "t-1", user).status == 204)
        #expect(try await registered(app) == ["t-1"])
        try await eventually("it is published") { events.withLock { $0.last?.token == "t-1" } }
        #expect(try await register(app, "t-2", user).status == 204)
        try await eventually("the new token is published") { events.withLock { $0.last?.token == "t-2" } }
        let gone = try await app.call(.delete, "push/providers/gcm/registration", token: user.access)
        #expect(gone.status == 204)
        try await eventually("the end is published") { events.withLock { $0.last?.token == nil } }
        #expect(try await registered(app).isEmpty)
        try await eventually("the row is gone") {
            try await fixture.postgres.query(
                "SELECT FROM partita.auth_push_registrations WHERE app = $1", [.text(app.app)]
            ).isEmpty
        }
        let last = try #require(events.withLock { $0.last })
        let versions = events.withLock { $0.map(\.version) }
        #expect(try await register(app, "t-3", user).status == 204)
        try await eventually("a registration that begins anew has a later version") {
            events.withLock { $0.last.map { $0.token == "t-3" && $0.version > versions[2] } ?? false }
        }
        #expect(versions == [versions[0], versions[0] + 1, versions[0] + 2])
        #expect(last.user == user.user && last.device == user.device && last.provider == "gcm")
        #expect(events.withLock { $0.map(\.token) } == ["t-1", "t-2", nil, "t-3"])
        let ended = try await app.call(.delete, "push/providers/gcm/registration", token: user.access)
        #expect(ended.status == 204)
        // Ending it again is no error, as SDKs expect.
        #expect(try await app.call(.delete, "push/providers/gcm/registration", token: user.access).status == 204)
    }

    @Test func `a token belongs to one user of a device, and ends with the account`() async throws {
        let fixture = try await AuthFixture.shared(), app = try await fixture.app()
        let removed = Locked<[String]>([])
        let tail = EventTail<PushRegistrationEvent>(
            pool: fixture.pool, kafka: KafkaClient(configuration: fixture.engines.kafka)
        ) { received in removed.withLock { $0 += received.filter { $0.message.value == nil }.map(\.key) } }
        let running = Task { try await tail.run() }
        defer { running.cancel() }
        try await tail.waitUntilPositioned()
        let first = try await app.newUser("one@example.org")
        let second = try await app.newUser("two@example.org")
        #expect(try await register(app, "same", first).status == 204)
        #expect(try await register(app, "same", second).status == 204)
        #expect(try await register(app, "other", second, service: "apns").status == 204)
        #expect(try await registered(app) == ["other", "same"])
        #expect(try await app.auth(.delete, "delete", token: second.access).status == 204)
        #expect(try await registered(app).isEmpty)
        let keys = ["apns", "gcm"].map { EventKey.text(app.app, second.user, second.device, $0) }
        try await eventually("the topic has nothing of a deleted user") {
            removed.withLock { $0.filter { $0.hasPrefix("\(app.app)/") }.sorted() } == keys
        }
    }

    @Test func `a user has a hundred registrations at most`() async throws {
        let app = try await AuthFixture.shared().app()
        let user = try await app.newUser("many@example.org")
        for number in 0..<100 {
            #expect(try await register(app, "t-\(number)", user, service: "s\(number)").status == 204)
        }
        let refused = try await register(app, "t-x", user, service: "s100")
        #expect(refused.status == 400 && refused.json["error"]?.stringValue?.contains("at most 100") == true)
        #expect(try await register(app, "t-y", user, service: "s99").status == 204)
    }

    @Test func `what isn't a registration is refused`() async throws {
        let app = try await AuthFixture.shared().app()
        let user = try await app.newUser("odd@example.org")
        #expect(try await register(app, "", user).code == "InvalidParameter")
        #expect(try await register(app, String(repeating: "t", count: 4097), user).code == "InvalidParameter")
        #expect(try await register(app, "t", user, service: "g%20cm").code == "InvalidParameter")
        let without = try await app.call(.put, "push/providers/gcm/registration", [:], token: user.access)
        #expect(without.code == "MissingParameter")
        let stranger = try await app.call(.put, "push/providers/gcm/registration", ["registrationToken": "t"])
        #expect(stranger.status == 401 && stranger.code == "InvalidSession")
        let other = try await AuthFixture.shared().app()
        #expect(try await register(other, "t", user).code == "InvalidSession")
    }
}
