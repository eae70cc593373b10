import DocumentModel
import DocumentStore
import EventTopics
import Metrics
import Presence
import TestSupport
import Testing

/// One after the other: one of them deletes from Redis who is online.
@Suite(.serialized) struct PresenceTests {
    private let device = "phone"

    @Test func `a lease that runs out writes the field`() async throws {
        let fixture = try await TriggersFixture.shared()
        let app = TriggerApp(hasPresence: true)
        try await fixture.deploy(app)
        let users = fixture.store.collection("User", database: "Test", app: app.id)
        _ = try await users.insertOne(["_id": "ann", "presence": "On-Line"])
        let leases = PresenceLeases(redis: fixture.redis, ttl: .milliseconds(300), prefix: "\(fixture.pool):")
        let flips = try await leases.refresh([PresenceMember(app: app.id, user: "ann", device: "phone")])
        #expect(flips.first?.isUserOnline == true)
        let user = try await eventually("off-line", within: patience) {
            let user = try await users.findOne(["_id": "ann"])
            return user?["presence"]?.stringValue == "Off-Line" ? user : nil
        }
        #expect(user["lastSeenAt"] != nil)
    }

    @Test func `a flip waits for the user's document, and an older one writes nothing`() async throws {
        let fixture = try await TriggersFixture.shared()
        let app = TriggerApp(hasPresence: true)
        try await fixture.deploy(app)
        try await waitForMark(fixture)
        let users = fixture.store.collection("User", database: "Test", app: app.id)
        func flip(_ version: Int64, online: Bool) -> PresenceEvent {
            PresenceEvent(
                app: app.id, user: "bob", device: "phone", state: online ? .online : .offline,
                why: online ? nil : .left, isUserOnline: online, lastSeen: 1000, version: version)
        }
        try await fixture.events.send(flip(2, online: true))
        _ = try await users.insertOne(["_id": "bob"])
        try await eventually("on-line", within: patience) {
            try await users.findOne(["_id": "bob"])?["presence"]?.stringValue == "On-Line"
        }
        try await fixture.events.send(flip(1, online: false))
        try await fixture.events.send(flip(3, online: true))
        try await eventually("the newest is written") {
            try await fixture.postgres.query(
                "select version from partita.presence_written where app = $1", [.text(app.id)]
            ).first?.decode(0, as: Int64.self) == 3
        }
        #expect(try await users.findOne(["_id": "bob"])?["presence"]?.stringValue == "On-Line")
    }

    /// As when it is handled by another worker than the one that was asked whether it knows the app.
    @Test func `a flip that comes before the app's definition is written`() async throws {
        let fixture = try await TriggersFixture.shared()
        let app = TriggerApp(hasPresence: true)
        _ = try await fixture.deployUnannounced(app)
        let users = fixture.store.collection("User", database: "Test", app: app.id)
        _ = try await users.insertOne(["_id": "amy"])
        try await fixture.events.send(
            PresenceEvent(
                app: app.id, user: "amy", device: device, state: .online, isUserOnline: true, lastSeen: 1000, version: 1
            ))
        try await eventually("on-line", within: patience) {
            try await users.findOne(["_id": "amy"])?["presence"]?.stringValue == "On-Line"
        }
    }

    private func count(_ name: String) -> Double {
        let line = MetricsRegistry.shared.prometheusText().split(separator: "\n").first { $0.hasPrefix(name + " ") }
        return line?.split(separator: " ").last.flatMap { Double($0) } ?? 0
    }

    private func events(_ what: String) -> Double {
        count("event_stream_\(what)_total{topic=\"presence-events\",group=\"trigger-workers-presence\"}")
    }

    @Test func `users without a document delay no other, and a new document gets the newest flip`() async throws {
        let fixture = try await TriggersFixture.shared()
        let app = TriggerApp(hasPresence: true)
        try await fixture.deploy(app)
        try await waitForMark(fixture)
        let users = fixture.store.collection("User", database: "Test", app: app.id)
        _ = try await users.insertOne(["_id": "ida"])
        func flip(_ user: String, _ version: Int64, online: Bool = true) -> PresenceEvent {
            PresenceEvent(
                app: app.id, user: user, device: "phone", state: online ? .online : .offline,
                why: online ? nil : .left, isUserOnline: online, lastSeen: 1000, version: version)
        }
        // One who reconnects immediately, and a crowd.
        let before = (retries: events("retries"), letters: events("dead_letters"))
        let crowd = (1...1000).map { flip("hal", $0) } + (1...1000).map { flip("nobody-\($0)", 1) }
        try await fixture.events.send(crowd).requireAll()
        let start = ContinuousClock.now
        try await fixture.events.send(flip("ida", 1))
        try await eventually("who has a document is on-line", within: .seconds(30)) {
            try await users.findOne(["_id": "ida"])?["presence"]?.stringValue == "On-Line"
        }
        print("2,000 flips of users without a document in \(ContinuousClock.now - start)")
        #expect(events("retries") == before.retries && events("dead_letters") == before.letters)
        try await eventually("the last flip is noted") {
            try await fixture.postgres.query(
                "select 1 from partita.presence_written where app = $1 and user_id = 'hal' and version = 1000 and is_unwritten",
                [.text(app.id)]
            ).count == 1
        }
        _ = try await users.insertOne(["_id": "hal"])
        try await eventually("the document has it") {
            try await users.findOne(["_id": "hal"])?["presence"]?.stringValue == "On-Line"
        }
        // A document that takes its place while he is online is told, too.
        try await users.deleteOne(["_id": "hal"])
        _ = try await users.insertOne(["_id": "hal"])
        try await eventually("the new document has it") {
            try await users.findOne(["_id": "hal"])?["presence"]?.stringValue == "On-Line"
        }
        try await fixture.events.send(flip("hal", 1001, online: false))
        try await eventually("and the next one") {
            try await users.findOne(["_id": "hal"])?["presence"]?.stringValue == "Off-Line"
        }
    }

    @Test func `a document that doesn't admit its flip delays no other`() async throws {
        let fixture = try await TriggersFixture.shared()
        let app = TriggerApp(hasPresence: true, presenceField: "status.presence", presenceUserField: "user")
        try await fixture.deploy(app)
        try await waitForMark(fixture)
        let users = fixture.store.collection("User", database: "Test", app: app.id)
        func presence(of user: String) async throws -> String? {
            try await users.findOne(["user": .string(user)])?.value(at: "status.presence")?.stringValue
        }
        func flip(_ user: String, _ version: Int64, online: Bool = true) -> PresenceEvent {
            PresenceEvent(
                app: app.id, user: user, device: "phone", state: online ? .online : .offline,
                why: online ? nil : .left, isUserOnline: online, lastSeen: 1000, version: version)
        }
        let refused = count("trigger_worker_presence_refused_total")
        _ = try await users.insertOne(["user": "kim", "status": "x"])
        // No user's id; a document may have it all the same.
        _ = try await users.insertOne(["user": "kim\0"])
        try await fixture.events.send(flip("kim", 1))
        try await eventually("it is recorded", within: patience) {
            try await fixture.postgres.query(
                "select from partita.presence_written where app = $1 and user_id = 'kim' and version = 1 and is_unwritten",
                [.text(app.id)]
            ).count == 1
        }
        #expect(count("trigger_worker_presence_refused_total") > refused)
        // In the same lane, and among the changes of documents: neither is held back.
        _ = try await users.replaceOne(["user": "kim"], ["user": "kim", "status": [:]])
        try await eventually("the document that took its place has it", within: patience) {
            try await presence(of: "kim") == "On-Line"
        }
        try await fixture.events.send(flip("kim", 2, online: false))
        try await eventually("and the next one", within: patience) { try await presence(of: "kim") == "Off-Line" }
    }

    @Test func `a flip of a deleted user waits for no document`() async throws {
        let fixture = try await TriggersFixture.shared()
        let app = TriggerApp(hasPresence: true)
        try await fixture.deploy(app)
        try await waitForMark(fixture)
        try await fixture.tell(.userDeleted, of: "gus", app: app)
        let handled = events("handled")
        try await fixture.events.send(
            PresenceEvent(
                app: app.id, user: "gus", device: "phone", state: .offline, why: .left, isUserOnline: false,
                lastSeen: 1000, version: 1))
        try await eventually("it is done", within: patience) { events("handled") > handled }
        #expect(
            try await fixture.postgres.query(
                "select from partita.presence_written where app = $1 and user_id = 'gus' and is_unwritten",
                [.text(app.id)]
            ).isEmpty)
    }

    @Test func `what a gateway didn't tell before it died is told by others`() async throws {
        let fixture = try await TriggersFixture.shared()
        let member = PresenceMember(app: "untold", user: "fay", device: device)
        // Of its own: the workers would be faster.
        let leases = PresenceLeases(redis: fixture.redis, ttl: .milliseconds(200), prefix: "untold:\(fixture.pool):")
        let first = try #require(try await leases.refresh([member]).first)
        // Another gateway, to which the device has connected meanwhile.
        #expect(try await leases.refresh([member]).isEmpty)
        try await Task.sleep(for: .milliseconds(60))  // more than a quarter of the lease's time
        let second = try #require(try await leases.refresh([member]).first)
        #expect(second.isUserOnline && second.version > first.version)
        try await leases.told([member])
        #expect(try await leases.refresh([member]).isEmpty)

        let left = try #require(try await leases.leave(member))
        #expect(try await leases.leave(member) == nil)
        let claimed = try await eventually("the end is told again") {
            try await leases.claimExpired(limit: 10, claimTime: .milliseconds(200)).flips.first
        }
        #expect(claimed.member == member && !claimed.isUserOnline && claimed.version > left.version)
        try await leases.confirm([member])

        // One that it has told isn't.
        _ = try await leases.refresh([member])
        _ = try await leases.leave(member)
        try await leases.confirm([member])
        try await Task.sleep(for: .milliseconds(500))  // longer than a lease
        #expect(try await leases.claimExpired(limit: 10, claimTime: .seconds(1)).flips.isEmpty)
    }

    @Test func `flips keep counting up when Redis has lost everything`() async throws {
        let fixture = try await TriggersFixture.shared()
        let member = PresenceMember(app: "forgetful", user: "cid", device: device)
        let leases = PresenceLeases(redis: fixture.redis, ttl: .seconds(30), prefix: "\(fixture.pool):")
        let first = try #require(try await leases.refresh([member]).first)
        let second = try #require(try await leases.leave(member))
        #expect(second.version > first.version)
        try await forget(member, fixture)
        #expect(try #require(try await leases.refresh([member]).first).version > second.version)
        _ = try await leases.leave(member)
    }

    @Test func `users who left while Redis was unavailable go offline, and connected ones don't`() async throws {
        let fixture = try await TriggersFixture.shared()
        let app = TriggerApp(hasPresence: true)
        try await fixture.deploy(app)
        try await waitForMark(fixture)
        let users = fixture.store.collection("User", database: "Test", app: app.id)
        func presence(of user: String) async throws -> String? {
            try await users.findOne(["_id": .string(user)])?["presence"]?.stringValue
        }
        // Longer than this test takes, as if the gateway renewed all the time.
        let leases = PresenceLeases(redis: fixture.redis, ttl: .seconds(600), prefix: "\(fixture.pool):")
        let members = ["dan", "eve"].map { PresenceMember(app: app.id, user: $0, device: device) }
        for flip in try await leases.refresh(members) {
            _ = try await users.insertOne(["_id": .string(flip.member.user)])
            try await fixture.events.send(
                PresenceEvent(
                    app: app.id, user: flip.member.user, device: device, state: .online, isUserOnline: true,
                    lastSeen: flip.time, version: flip.version))
            try await eventually("\(flip.member.user) is on-line", within: patience) {
                try await presence(of: flip.member.user) == "On-Line"
            }
        }
        for member in members { try await forget(member, fixture) }
        // Eve's gateway renews, Dan's is gone.
        _ = try await leases.refresh([members[1]])
        try await fixture.redis.command(["DEL", "\(fixture.pool):presence:mark"])
        try await eventually("Dan is off-line", within: patience) {
            try await presence(of: "dan") == "Off-Line"
        }
        try await waitForMark(fixture)
        #expect(try await presence(of: "eve") == "On-Line")
        _ = try await leases.leave(members[1])
    }

    /// The workers have looked after who was online when they began.
    private func waitForMark(_ fixture: TriggersFixture) async throws {
        try await eventually("the mark is set", within: patience) {
            try await fixture.redis.command(["EXISTS", "\(fixture.pool):presence:mark"]).int == 1
        }
    }

    private func forget(_ member: PresenceMember, _ fixture: TriggersFixture) async throws {
        let user = "\(member.app)/\(member.user)"
        let keys = ["\(user)/\(member.device)", "devices:\(user)", "version:\(user)"]
        try await fixture.redis.command(["DEL"] + keys.map { "\(fixture.pool):presence:\($0)" })
    }
}
