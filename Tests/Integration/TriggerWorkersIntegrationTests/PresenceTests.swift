import DocumentModel
import DocumentStore
import EventTopics
import Presence
import TestSupport
import Testing

@Suite struct PresenceTests {
    @Test func `a lease that runs out writes the field`() async throws {
        let fixture = try await TriggersFixture.shared()
        let app = TriggerApp(hasPresence: true)
        try await fixture.deploy(app)
        let users = fixture.store.collection("User", database: "Test", app: app.id)
        _ = try await users.insertOne(["_id": "ann", "presence": "On-Line"])
        let leases = PresenceLeases(redis: fixture.redis, ttl: .milliseconds(300), prefix: "\(fixture.pool):")
        let flips = try await leases.refresh([PresenceMember(app: app.id, user: "ann", device: "phone")])
        #expect(flips.first?.isUserOnline == true)
        let user = try await eventually("off-line", within: .seconds(10)) {
            let user = try await users.findOne(["_id": "ann"])
            return user?["presence"]?.stringValue == "Off-Line" ? user : nil
        }
        #expect(user["lastSeenAt"] != nil)
    }

    @Test func `a flip waits for the user's document, and an older one writes nothing`() async throws {
        let fixture = try await TriggersFixture.shared()
        let app = TriggerApp(hasPresence: true)
        try await fixture.deploy(app)
        let users = fixture.store.collection("User", database: "Test", app: app.id)
        func flip(_ version: Int64, online: Bool) -> PresenceEvent {
            PresenceEvent(
                app: app.id, user: "bob", device: "phone", state: online ? .online : .offline,
                why: online ? nil : .left, isUserOnline: online, lastSeen: 1000, version: version)
        }
        try await fixture.events.send(flip(2, online: true))
        _ = try await users.insertOne(["_id": "bob"])
        try await eventually("on-line", within: .seconds(10)) {
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
}
