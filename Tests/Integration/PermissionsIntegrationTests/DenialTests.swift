import DocumentModel
import EventTopics
import Foundation
import Permissions
import Postgres
import TestSupport
import Testing

/// Denied questions cost others nothing, and leave nothing.
@Suite(.serialized) struct DenialTests {
    @Test func `a denied question leaves no row, and no key in the topic`() async throws {
        let fixture = try await PermissionsFixture.shared()
        _ = try await fixture.members.insertOne(["_id": "lea", "rooms": ["kitchen"]])
        // As an error does, and as a rule that asks documents.
        for room in ["cellar", "broken cellar", "attic"] {
            try await fixture.ask("lea", room)
            #expect(try await !fixture.grant(.none, of: "lea", room).isFence)
            try await eventually("the topic forgets it") { fixture.isForgotten("lea", room) }
        }
        #expect(try await fixture.rowCount(of: "lea") == 0)
        // A grant is kept, and published unchanged.
        try await fixture.ask("lea", "kitchen")
        _ = try await fixture.grant(.write, of: "lea", "kitchen")
        #expect(!fixture.isForgotten("lea", "kitchen"))
    }

    @Test func `one user's thousand questions don't delay another user's one`() async throws {
        let fixture = try await PermissionsFixture.shared()
        _ = try await fixture.members.insertOne(["_id": "mia", "rooms": ["kitchen", "cellar"]])
        try await fixture.ask("mia", "kitchen")
        _ = try await fixture.grant(.write, of: "mia", "kitchen")

        let flood = 1000
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<flood { group.addTask { try await fixture.ask("mallory", "flood\(number)") } }
            try await group.waitForAll()
        }
        let earlier = fixture.answers(about: "flood")
        try await fixture.ask("mia", "cellar")
        _ = try await fixture.grant(.write, of: "mia", "cellar")
        // In the order of arrival it would have been the last.
        let before = fixture.answers(about: "flood")
        #expect(
            before - earlier < (flood - earlier) / 2,
            "\(earlier) answers before the question, \(before) before its answer")
        try await eventually("all are answered", within: patience) { fixture.answers(about: "flood") >= flood }
        try await eventually("the topic has nothing of it") { fixture.isForgotten("mallory", "flood\(flood - 1)") }
        #expect(try await fixture.rowCount(of: "mallory") == 0)
    }

    @Test func `a revoked grant is removed once its receipt is written and it is old`() async throws {
        let fixture = try await PermissionsFixture.shared()
        _ = try await fixture.members.insertOne(["_id": "nat", "rooms": ["kitchen"]])
        try await fixture.ask("nat", "kitchen")
        let first = try await fixture.grant(.write, of: "nat", "kitchen")
        _ = try await fixture.members.updateOne(["_id": "nat"], .document(["$set": ["rooms": []]]))
        let fence = try await fixture.grant(.none, of: "nat", "kitchen")
        #expect(fence.isFence)
        _ = try await fixture.receipt(of: "nat", "kitchen")
        #expect(try await fixture.row(of: "nat", "kitchen") == "none")
        try await fixture.postgres.execute(
            "update partita.grants set decided_at = now() - interval '1 day' where user_id = 'nat'")
        try await eventually("the cleaning comes", within: .seconds(60)) { try await fixture.rowCount(of: "nat") == 0 }
        #expect(fixture.isForgotten("nat", "kitchen"))
        // Answers to an old revocation must never count for a new one.
        _ = try await fixture.members.updateOne(["_id": "nat"], .document(["$set": ["rooms": ["kitchen"]]]))
        try await fixture.ask("nat", "kitchen")
        let again = try await fixture.grant(.write, of: "nat", "kitchen")
        #expect(first.version < fence.version && fence.version < again.version)
    }

    @Test func `what a decision left whose process ended is removed`() async throws {
        let fixture = try await PermissionsFixture.shared()
        let pair: [PostgresValue] = [.text(PermissionsFixture.app), .text("s:kitchen"), .text("orla")]
        try await fixture.postgres.execute(
            """
            insert into partita.grant_subjects (app, partition, user_id, claims, asked_at)
            values ($1, $2, $3, '{}', now() - interval '1 day')
            """, pair)
        try await fixture.postgres.execute(
            """
            insert into partita.grant_dependencies (app, partition, user_id, database, collection, filter)
            values ($1, $2, $3, 'Test', 'Nothing', '{"a":1}')
            """, pair)
        try await eventually("the cleaning comes", within: .seconds(60)) { try await fixture.rowCount(of: "orla") == 0 }
    }

    @Test func `questions and changes at the same time leave an answer that is kept up to date`() async throws {
        let fixture = try await PermissionsFixture.shared()
        _ = try await fixture.members.insertOne(["_id": "pat", "rooms": []])
        // The first right arrives while it asks, and may be revoked immediately.
        for round in 0..<12 {
            async let asking: Void = fixture.ask("pat", "kitchen")
            let rooms: Value = round % 2 == 0 ? ["kitchen"] : []
            _ = try await fixture.members.updateOne(["_id": "pat"], .document(["$set": ["rooms": rooms]]))
            try await asking
        }
        _ = try await fixture.members.updateOne(["_id": "pat"], .document(["$set": ["rooms": ["kitchen"], "last": 1]]))
        try await fixture.ask("pat", "kitchen")
        try await eventually("the right is there") { try await fixture.row(of: "pat", "kitchen") == "write" }
        _ = try await fixture.members.updateOne(["_id": "pat"], .document(["$set": ["rooms": []]]))
        try await eventually("it is taken away") { try await fixture.row(of: "pat", "kitchen") == "none" }
    }
}
