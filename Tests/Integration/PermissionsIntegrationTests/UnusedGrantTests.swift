import DocumentModel
import DocumentStore
import EventLoop
import EventTopics
import Grants
import Logging
import Postgres
import ServiceEngines
import TestSupport
import Testing

@testable import Permissions

/// Grants that nobody uses any more end; all others stay.
@Suite(.serialized) struct UnusedGrantTests {
    @Test func `a grant that nobody used for a season ends, and is given again to who asks`() async throws {
        let fixture = try await PermissionsFixture.shared()
        let first = try await fixture.grant(of: "una", in: "shed")
        #expect(try await fixture.mayWrite("una", "shed") == true)
        try await fixture.lastUse(of: "una", daysAgo: 91)
        let end = try await eventually("the topic has the end", within: .seconds(60)) {
            fixture.newestGrant(of: "una", "shed").flatMap { $0.expires == nil ? nil : $0 }
        }
        #expect(end.version > first.version && end.access == .write && !end.isFence)
        #expect(!fixture.hasReceipt(of: "una", "shed"))
        // No deployment and no change decides it again; a move into the partition waits for an answer, and isn't rejected.
        try await eventually("the topic has it") { try await fixture.outboxCount(of: "una") == 0 }
        #expect(try await fixture.rowCount(of: "una") == 1)
        #expect(try await fixture.mayWrite("una", "shed") == nil)

        try await fixture.ask("una", "shed")
        let again = try await eventually("the new grant", within: patience) {
            fixture.newestGrant(of: "una", "shed").flatMap { $0.version > end.version ? $0 : nil }
        }
        #expect(again.access == .write && again.expires == nil)
        #expect(try await fixture.mayWrite("una", "shed") == true)
        // Decisions follow the documents again.
        _ = try await fixture.members.updateOne(["_id": "una"], .document(["$set": ["rooms": []]]))
        #expect(try await fixture.grant(.none, of: "una", "shed").isFence)
        #expect(try await fixture.mayWrite("una", "shed") == false)
    }

    @Test func `a grant is in use when it is read, and as long as it is followed`() async throws {
        let fixture = try await PermissionsFixture.shared()
        for user in ["ulf", "uma", "udo"] { _ = try await fixture.grant(of: user, in: "loft") }
        let book = GrantBook(
            client: fixture.postgres, producer: fixture.events, instance: "test", budget: QuestionBudget(.standard),
            logger: Logger(label: "test"))
        let partition = Partition(text: "s:loft")
        // Many, so that they take several statements.
        var following = (0..<2500).map {
            book.follow(app: PermissionsFixture.app, user: "nobody \($0)", partition: partition) { _, _ in }
        }
        following.append(
            book.follow(app: PermissionsFixture.app, user: "uma", partition: partition) { _, _ in })
        // Not yet so long ago that the cleaner ends them meanwhile.
        for user in ["ulf", "uma", "udo"] { try await fixture.lastUse(of: user, daysAgo: 89) }
        let grant = try await book.resolve(
            app: PermissionsFixture.app, user: "ulf", device: "d", partition: partition, claims: ["id": "ulf"])
        #expect(grant?.access == .write)
        #expect(await book.writeUses())
        #expect(try await fixture.daysUnused("ulf") == 0)
        #expect(try await fixture.daysUnused("uma") == 0)
        #expect(try await fixture.daysUnused("udo") == 89)

        // It isn't waited for while the grant won't end for long, and not with an error.
        try await fixture.lastUse(of: "udo", daysAgo: 40)
        try await fixture.postgres.withTransaction { transaction in
            try await transaction.execute("select from partita.grants where user_id = 'udo' for share")
            _ = try await book.resolve(
                app: PermissionsFixture.app, user: "udo", device: "d", partition: partition, claims: ["id": "udo"])
            #expect(await book.writeUses())
            #expect(try await fixture.daysUnused("udo") == 40)
        }
        _ = try await book.resolve(
            app: PermissionsFixture.app, user: "udo", device: "d", partition: partition, claims: ["id": "udo"])
        #expect(await book.writeUses())
        #expect(try await fixture.daysUnused("udo") == 0)

        // A use of this week isn't written again.
        try await fixture.lastUse(of: "uma", daysAgo: 7)
        #expect(await book.writeUses())
        #expect(try await fixture.daysUnused("uma") == 7)
        for following in following { book.stop(following) }
        try await fixture.lastUse(of: "uma", daysAgo: 8)
        #expect(await book.writeUses())
        #expect(try await fixture.daysUnused("uma") == 8)
    }

    @Test func `the grant for all is in use while somebody follows their own`() async throws {
        let fixture = try await PermissionsFixture.shared()
        try await fixture.ask("ugo", "news")
        _ = try await fixture.grant(.read, of: "ugo", "news")
        let book = GrantBook(
            client: fixture.postgres, producer: fixture.events, instance: "test", budget: QuestionBudget(.standard),
            logger: Logger(label: "test"))
        let partition = Partition(text: "s:news")
        try await fixture.postgres.execute(
            """
            insert into partita.grants (app, partition, user_id, access, epoch, version, used_on)
            values ($1, 's:meadow', '*', 'read', partita.current_epoch(), 1, current_date - 30)
            """, [.text(PermissionsFixture.app)])
        let following = book.follow(
            app: PermissionsFixture.app, user: "ugo", partition: Partition(text: "s:meadow")
        ) { _, _ in }
        #expect(await book.writeUses())
        let days = try await fixture.postgres.query(
            "select current_date - used_on from partita.grants where partition = 's:meadow' and user_id = '*'"
        ).decode(Int32.self)
        #expect(days == [0])
        book.stop(following)
        #expect(
            try await book.resolve(
                app: PermissionsFixture.app, user: "ugo", device: "d", partition: partition, claims: ["id": "ugo"]
            )?.access == .read)
    }

    @Test func `a grant whose question is gone ends with the next change, and isn't decided without it`() async throws {
        let fixture = try await PermissionsFixture.shared()
        let grant = try await fixture.grant(of: "ute", in: "barn")
        try await fixture.postgres.execute("delete from partita.grant_subjects where user_id = 'ute'")
        // A decision that was under way.
        let verdict = Verdict(access: .write, reason: "test", dependencies: [])
        let subject = Subject(app: PermissionsFixture.app, user: "ute", partition: Partition(text: "s:barn"))
        #expect(
            try await GrantTable(client: fixture.postgres).commit(verdict, on: subject, basis: .version(grant.version))
                == nil)
        _ = try await fixture.members.updateOne(["_id": "ute"], .document(["$set": ["rooms": []]]))
        let end = try await eventually("it has ended", within: patience) {
            fixture.newestGrant(of: "ute", "barn").flatMap { $0.expires == nil ? nil : $0 }
        }
        #expect(end.version > grant.version)
        // Who asks gets the present answer.
        try await fixture.ask("ute", "barn")
        #expect(try await fixture.grant(.none, of: "ute", "barn").isFence)
    }

    @Test func `a late report that a user is disabled takes nothing from one who is enabled by now`() async throws {
        let fixture = try await PermissionsFixture.shared()
        let grant = try await fixture.grant(of: "uli", in: "yard")
        // The row of the block is gone.
        try await fixture.events.send(
            AuthEvent(
                id: ObjectId().hexString, app: PermissionsFixture.app, kind: .userDisabled, userID: "uli", user: [:],
                time: 0))
        try await Task.sleep(for: .seconds(2))  // by then it is handled, as a rule
        #expect(fixture.newestGrant(of: "uli", "yard")?.version == grant.version)
        #expect(try await fixture.mayWrite("uli", "yard") == true)
        // Nor does a verdict that knows of the block, when that has ended.
        let table = GrantTable(client: fixture.postgres)
        let verdict = Verdict(access: .none, reason: GrantTable.shutOutReason, dependencies: [])
        let subject = Subject(app: PermissionsFixture.app, user: "uli", partition: Partition(text: "s:yard"))
        #expect(try await table.commit(verdict, on: subject, basis: .whatever) == nil)
    }
}

extension PermissionsFixture {
    /// Makes the user a member who has asked, and been granted the room.
    fileprivate func grant(of user: String, in room: String) async throws -> Grant {
        _ = try await members.insertOne(["_id": .string(user), "rooms": [.string(room)]])
        try await ask(user, room)
        let grant = try await grant(.write, of: user, room)
        try await eventually("the topic has it") { try await outboxCount(of: user) == 0 }
        return grant
    }

    fileprivate func lastUse(of user: String, daysAgo days: Int) async throws {
        try await postgres.execute(
            "update partita.grants set used_on = current_date - \(days) where user_id = $1", [.text(user)])
    }

    /// What an upload finds; `nil` when permissions has to be asked.
    fileprivate func mayWrite(_ user: String, _ room: String) async throws -> Bool? {
        try await postgres.query(
            "select * from partita.may_write($1, $2, $3)", [.text(Self.app), .text("s:" + room), .text(user)]
        ).first?.decode(0, as: Bool?.self) ?? nil
    }

    fileprivate func daysUnused(_ user: String) async throws -> Int32? {
        try await postgres.query(
            "select current_date - used_on from partita.grants where user_id = $1", [.text(user)]
        ).decode(Int32.self).first
    }
}
