import DocumentModel
import EventTopics
import Postgres
import ServiceEngines
import TestSupport
import Testing

@testable import Permissions

/// Rules that allow all users the same.
@Suite struct EveryoneTests {
    private static func sync(read: String, write: String) -> [String: String] {
        [
            "sync/config.json": """
            {"state": "enabled", "service_name": "mongodb-atlas", "database_name": "Test",
             "partition": {"key": "partition", "type": "string", "required": true, "permissions": {
               "read": \(read), "write": \(write)}}}
            """
        ]
    }

    @Test func `all users share a grant, a refusal leaves nothing, and a blocked user has none`() async throws {
        let fixture = try await PermissionsFixture.own()
        _ = try await fixture.deploy(
            function: "mayRead", as: "exports = () => true;",
            adding: Self.sync(
                read: #"{"%%partition": {"%ne": "cellar"}}"#,
                write: #"{"%or": [{"%%partition": "hall"}, {"%%partition": "%%user.id"}]}"#))
        let users = (0..<40).map { "every-\($0)" }
        for user in users { try await fixture.ask(user, "hall") }
        #expect(try await fixture.grant(.write, of: "*", "hall").reason == "sync.partition.permissions.write")
        // Who asks later gets an answer, too, which stays nowhere.
        try await fixture.ask("late", "hall")
        #expect(try await fixture.grant(.write, of: "late", "hall").version.number == 0)
        try await eventually("it is removed from the topic") { fixture.isForgotten("late", "hall") }
        try await fixture.ask("late", "cellar")
        #expect(try await fixture.grant(.none, of: "late", "cellar").version.number == 0)
        // What the user was looked at for is the user's own.
        try await fixture.ask("late", "late")
        #expect(try await fixture.grant(.write, of: "late", "late").version.number > 0)
        let holders = try await fixture.postgres.query(
            "select user_id || ' ' || partition || ' ' || access from partita.grants where app = $1 order by user_id collate \"C\"",
            [.text(PermissionsFixture.app)]
        ).decode(String.self)
        #expect(holders == ["* s:hall write", "late s:late write"])

        // Unused for long, it ends, as a user's does; who asks then has it given again.
        func hasEnded() async throws -> Bool? {
            try await fixture.postgres.query(
                "select expires_at is not null from partita.grants where partition = 's:hall' and user_id = '*'"
            ).first?.decode(0)
        }
        try await fixture.postgres.execute(
            "update partita.grants set used_on = current_date - 91 where partition = 's:hall' and user_id = '*'")
        try await eventually("it ends", within: patience) { try await hasEnded() == true }
        try await fixture.ask("later", "hall")
        try await eventually("it is given again", within: patience) { try await hasEnded() == false }

        try await fixture.tell(.userDisabled, of: "every-1")
        let standing = try await fixture.postgres.query(
            """
            select u, (select access from partita.standing_grant($1, 's:hall', u)) from unnest(array['every-1', 'every-2']) u
            """, [.text(PermissionsFixture.app)]
        ).decode((String, String?).self)
        #expect(standing.map(\.1) == [nil, "write"])
        try await fixture.ask("every-1", "hall")
        #expect(try await fixture.grant(.none, of: "every-1", "hall").reason == GrantTable.shutOutReason)

        // Rules that depend on the user end it.
        _ = try await fixture.deploy(function: "mayRead", as: "exports = () => false;")
        #expect(try await fixture.revocation(of: "*", "hall").reason.contains("aren't the same for all users"))
        _ = try await fixture.receipt(of: "*", "hall")
        try await fixture.members.insertOne(["_id": "every-2", "partition": "m", "rooms": ["hall"]])
        try await fixture.ask("every-2", "hall")
        _ = try await fixture.grant(.write, of: "every-2", "hall")
    }
}
