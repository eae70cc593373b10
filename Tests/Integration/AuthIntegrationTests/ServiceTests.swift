import AccessTokens
import AppDefinition
import DocumentModel
import EventLoop
import EventStream
import EventTopics
import Foundation
import Kafka
import Postgres
import TestSupport
import Testing

@testable import Auth

@Suite struct ServiceTests {
    @Test func `the public keys are on the topic, and verify what is signed`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app()
        let tokens = try await app.newUser("topic@example.org")
        let verifier = try TokenVerifier()
        let reader = StateReader<SigningKeyEvent>(
            pool: fixture.pool, kafka: KafkaClient(configuration: fixture.engines.kafka)
        ) { changes in
            for case .set(let event) in changes { try verifier.add(try TokenPublicKey(jwk: event.payload.jwk)) }
        }
        let running = Task { try await reader.run() }
        defer { running.cancel() }
        try await reader.waitUntilCaughtUp()
        let claims = try verifier.verify(tokens.access, app: app.app, now: Int64(Date().timeIntervalSince1970))
        #expect(claims.user == tokens.user)
    }

    @Test func `signing keys are encrypted in Postgres, passwords hashed, and secrets of mails and keys only digests`()
        async throws
    {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app()
        _ = try await app.newUser("stored@example.org")
        let keys = try await fixture.postgres.query("SELECT private_key FROM partita.auth_signing_keys").decode(
            String.self)
        #expect(!keys.isEmpty && keys.allSatisfy { $0.hasPrefix("secretbox.v2:") })
        let hashes = try await fixture.postgres.query(
            "SELECT password_hash FROM partita.auth_identities WHERE app = $1", [.text(app.app)]
        ).decode(String.self)
        #expect(hashes.count == 1 && hashes.allSatisfy { $0.hasPrefix("$argon2id$") })
    }

    @Test func `a hash of other costs is recomputed at the next sign-in`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app()
        #expect(try await app.register("old@example.org").status == 201)
        let old = try #require(Sodium.hashPassword("password", operations: 2, memoryBytes: 16 << 10))
        try await fixture.postgres.execute(
            "UPDATE partita.auth_identities SET password_hash = $2 WHERE app = $1", [.text(app.app), .text(old)])
        #expect(try await app.login("old@example.org").status == 200)
        let new = try await fixture.postgres.query(
            "SELECT password_hash FROM partita.auth_identities WHERE app = $1", [.text(app.app)]
        ).decode(String.self)
        #expect(new.first != old)
        #expect(try await app.login("old@example.org").status == 200)
    }

    @Test func `a rejected registration leaves no event`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app()
        let tokens = try await app.newUser("once@example.org")
        #expect(try await app.register("once@example.org").code == "AccountNameInUse")
        let events = try await fixture.postgres.query(
            "SELECT user_id FROM partita.auth_outbox WHERE app = $1 AND kind = 'user-created'", [.text(app.app)]
        ).decode(String.self)
        #expect(events == [tokens.user])
    }

    @Test func `the same address registered many times at once is one account`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app()
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<5 { group.addTask { try await app.register("race@example.org").status } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses.sorted() == [201, 409, 409, 409, 409])
        #expect(try await app.admin(.get, "").json["users"]?.arrayValue?.count == 1)
    }

    @Test func `a deployed change of an app is applied, and a removed app is gone`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app()
        var changed = TestApp()
        changed.id = app.app
        changed.origins = ["https://only.example"]
        let (deployed, isNew) = try await fixture.deploy(try AppDefinition(files: changed.files))
        #expect(isNew && deployed.version == 2)
        let same = try await fixture.deploy(try AppDefinition(files: changed.files))
        #expect(!same.isNew && same.app.version == 2)
        try await eventually("the new origins count") {
            try await app.call(.get, "location", headers: ["Origin": "https://any.example"])
                .header("Access-Control-Allow-Origin") == nil
        }
        #expect(try await fixture.registry.remove(app.app))
        try await eventually("the app is gone") { try await app.call(.get, "location").status == 404 }
        let again = try await fixture.deploy(try AppDefinition(files: changed.files))
        #expect(again.app.version == 4)
    }

    @Test func `the document that describes the routes names them all and no others`() async throws {
        let fixture = try await AuthFixture.shared()
        let described = try OpenAPIPaths.read(tag: "auth")
        #expect(described == fixture.server.routeTemplates.filter { !$0.hasPrefix("HEAD ") })
    }
}
