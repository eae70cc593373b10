import DocumentModel
import DocumentStore
import EventTopics
import Foundation
import Postgres
import TestSupport
import Testing

@testable import Permissions

@Suite struct DecisionTests {
    @Test func `a question is answered on the topic and in the table`() async throws {
        let fixture = try await PermissionsFixture.shared()
        _ = try await fixture.members.insertOne(["_id": "ann", "rooms": ["kitchen"]])
        try await fixture.ask("ann", "kitchen")
        try await fixture.ask("ann", "news")
        try await fixture.ask("ann", "cellar")
        #expect(try await fixture.grant(.write, of: "ann", "kitchen").expires == nil)
        _ = try await fixture.grant(.read, of: "ann", "news")
        _ = try await fixture.grant(.none, of: "ann", "cellar")
        #expect(try await fixture.row(of: "ann", "kitchen") == "write")
        try await eventually("nothing is left in the outbox") { try await fixture.outboxCount(of: "ann") == 0 }
    }

    @Test func `a change of what an answer depended on changes the answer`() async throws {
        let fixture = try await PermissionsFixture.shared()
        _ = try await fixture.members.insertOne(["_id": "bob", "rooms": ["kitchen"]])
        try await fixture.ask("bob", "kitchen")
        try await fixture.ask("bob", "cellar")
        let first = try await fixture.grant(.write, of: "bob", "kitchen")
        _ = try await fixture.grant(.none, of: "bob", "cellar")
        _ = try await fixture.members.updateOne(["_id": "bob"], .document(["$set": ["rooms": ["cellar"]]]))
        let second = try await fixture.grant(.none, of: "bob", "kitchen")
        #expect(second.version > first.version)
        #expect(try await fixture.row(of: "bob", "kitchen") == "none")
        // A user who was denied isn't notified of a later right, but gets it when asking again.
        #expect(try await fixture.row(of: "bob", "cellar") == nil)
        try await fixture.ask("bob", "cellar")
        _ = try await fixture.grant(.write, of: "bob", "cellar")
        #expect(try await fixture.row(of: "bob", "cellar") == "write")
        // From then on the answer is kept up to date.
        _ = try await fixture.members.updateOne(["_id": "bob"], .document(["$set": ["rooms": []]]))
        _ = try await fixture.revocation(of: "bob", "cellar")
    }

    @Test func `a change of the user's custom data changes the answer, whatever the token says`() async throws {
        let fixture = try await PermissionsFixture.shared()
        let custom = fixture.store.collection("Custom", database: "Test", app: PermissionsFixture.app)
        try await fixture.ask("kim", "team-a")
        _ = try await fixture.grant(.none, of: "kim", "team-a")
        _ = try await custom.insertOne(["_id": "c-kim", "user": "kim", "team": "team-a"])
        try await fixture.ask("kim", "team-a")
        _ = try await fixture.grant(.write, of: "kim", "team-a")
        _ = try await custom.updateOne(["_id": "c-kim"], .document(["$set": ["team": "team-b"]]))
        _ = try await fixture.revocation(of: "kim", "team-a")
        try await fixture.ask("kim", "team-b")
        _ = try await fixture.grant(.write, of: "kim", "team-b")
    }

    @Test func `questions and changes at the same time end with the answer to the last change`() async throws {
        let fixture = try await PermissionsFixture.shared()
        _ = try await fixture.members.insertOne(["_id": "eve", "rooms": ["kitchen"]])
        for round in 0..<10 {
            async let asking: Void = fixture.ask("eve", "kitchen")
            let rooms: Value = round % 2 == 0 ? [] : ["kitchen"]
            _ = try await fixture.members.updateOne(["_id": "eve"], .document(["$set": ["rooms": rooms]]))
            try await asking
        }
        _ = try await fixture.members.updateOne(["_id": "eve"], .document(["$set": ["rooms": [], "isLast": true]]))
        // Earlier questions are decided once this user's later question is.
        try await fixture.ask("eve", "news")
        _ = try await fixture.grant(.read, of: "eve", "news")
        try await eventually("the last change counts") {
            try await fixture.row(of: "eve", "kitchen") ?? "none" == "none"
        }
    }

    @Test func `who has a grant keeps it while the rule waits for Postgres longer than it may`() async throws {
        let fixture = try await PermissionsFixture.shared()
        let vault = fixture.store.collection("Vault", database: "Test", app: PermissionsFixture.app)
        _ = try await vault.insertOne(["_id": "noa"])
        try await fixture.ask("noa", "vault")
        let first = try await fixture.grant(.write, of: "noa", "vault")
        try await fixture.postgres.withTransaction { transaction in
            let name = try await transaction.query(
                "select format('%I.%I', schema_name, table_name) from partita.collections where name = 'Vault'", []
            ).decode(String.self)
            try await transaction.execute("lock table \(try #require(name.first)) in access exclusive mode")
            try await fixture.ask("noa", "vault")
            try await Task.sleep(for: .seconds(11))  // a rule function may take ten seconds
        }
        let second = try await eventually("there is an answer", within: patience) {
            fixture.newestGrant(of: "noa", "vault").flatMap { $0.version > first.version ? $0 : nil }
        }
        #expect(second.access == .write)
        #expect(try await fixture.row(of: "noa", "vault") == "write")
    }

    @Test func `a rule that fails denies, for a while`() async throws {
        let fixture = try await PermissionsFixture.shared()
        try await fixture.ask("carl", "broken")
        let grant = try await fixture.grant(.none, of: "carl", "broken")
        #expect(grant.reason.contains("no rule for this"))
        #expect(grant.expires != nil)
    }

    @Test func `an answer that depends on the time is valid for a while, and changes with its document`() async throws {
        let fixture = try await PermissionsFixture.shared()
        // In two centuries, and half a century ago.
        let member: Document = ["_id": "tim", "rooms": [], "until": .date(7_258_118_400_000)]
        _ = try await fixture.members.insertOne(member)
        try await fixture.ask("tim", "trial")
        #expect(try await fixture.grant(.read, of: "tim", "trial").expires != nil)
        _ = try await fixture.members.updateOne(["_id": "tim"], .document(["$set": ["until": .date(1_000)]]))
        #expect(try await fixture.grant(.none, of: "tim", "trial").expires != nil)
    }

    @Test func `a user who is deleted loses everything`() async throws {
        let fixture = try await PermissionsFixture.shared()
        _ = try await fixture.members.insertOne(["_id": "dora", "rooms": ["kitchen", "cellar"]])
        for room in ["kitchen", "cellar"] {
            try await fixture.ask("dora", room)
            _ = try await fixture.grant(.write, of: "dora", room)
        }
        try await fixture.tell(.userDeleted, of: "dora")
        _ = try await fixture.grant(.none, of: "dora", "kitchen")
        _ = try await fixture.grant(.none, of: "dora", "cellar")
        #expect(try await fixture.row(of: "dora", "cellar") == "none")
        // The access token is still valid for a while.
        for room in ["kitchen", "news"] {
            try await fixture.ask("dora", room)
            let grant = try await fixture.grant(.none, of: "dora", room)
            #expect(grant.reason == GrantTable.shutOutReason)
        }
    }

    @Test func `a user who is blocked while a first answer is being committed loses it`() async throws {
        let fixture = try await PermissionsFixture.shared()
        // What a decision does that is held up before its commit.
        try await fixture.postgres.withTransaction { transaction in
            let granted = try await transaction.query(
                """
                select from partita.first_grants(
                    array[$1], array['s:patio'], array['ivy'], array['{}'], array['read'], array['a test'], array[null::bigint],
                    array[1::bigint], array[0::bigint])
                """, [.text(PermissionsFixture.app)])
            #expect(granted.count == 1)
            try await fixture.tell(.userDeleted, of: "ivy")
            try await eventually("the revocation waits for it", within: patience) {
                try await !fixture.postgres.query(
                    """
                    select from pg_locks where locktype = 'advisory' and not granted
                        and database = (select oid from pg_database where datname = current_database())
                    """
                ).isEmpty
            }
        }
        _ = try await fixture.revocation(of: "ivy", "patio")
    }

    @Test func `a user who is disabled loses everything until enabled again`() async throws {
        let fixture = try await PermissionsFixture.shared()
        _ = try await fixture.members.insertOne(["_id": "gil", "rooms": ["kitchen"]])
        try await fixture.ask("gil", "kitchen")
        _ = try await fixture.grant(.write, of: "gil", "kitchen")
        try await fixture.tell(.userDisabled, of: "gil")
        let lost = try await fixture.grant(.none, of: "gil", "kitchen")
        #expect(lost.reason == GrantTable.shutOutReason)
        // Neither a change of what the answer depended on nor a question restores the right.
        _ = try await fixture.members.updateOne(["_id": "gil"], .document(["$push": ["rooms": "cellar"]]))
        try await fixture.ask("gil", "cellar")
        _ = try await fixture.grant(.none, of: "gil", "cellar")
        #expect(try await fixture.row(of: "gil", "kitchen") == "none")
        try await fixture.tell(.userEnabled, of: "gil")
        try await eventually("the user has the partition again") {
            try await fixture.ask("gil", "kitchen")
            return try await fixture.row(of: "gil", "kitchen") == "write"
        }
    }

    @Test func `a grant that a crash left in the outbox is published`() async throws {
        let fixture = try await PermissionsFixture.shared()
        let pair: [PostgresValue] = [.text(PermissionsFixture.app), .text("s:attic"), .text("finn")]
        try await fixture.postgres.withTransaction { transaction in
            _ = try await transaction.query(
                """
                insert into partita.grants (app, partition, user_id, access, epoch, version) values ($1, $2, $3, 'read', 1, 7)
                """, pair)
            _ = try await transaction.query(
                "insert into partita.grant_outbox (app, partition, user_id) values ($1, $2, $3)", pair)
        }
        let grant = try await fixture.grant(.read, of: "finn", "attic")
        #expect(grant.version.number == 7)
        try await eventually("nothing is left in the outbox") { try await fixture.outboxCount(of: "finn") == 0 }
    }
}
