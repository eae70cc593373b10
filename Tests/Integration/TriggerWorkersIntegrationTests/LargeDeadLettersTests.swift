import AppDeployment
import DocumentModel
import EventLoop
import TestSupport
import Testing

/// Events that are larger than a message of the broker may be, on which a trigger fails.
struct LargeDeadLettersTests {
    private static func source(isMended: Bool) -> String {
        """
        exports = async function(event) {
            const message = event.fullDocument;
            if (message.photo && \(!isMended)) throw new Error("no photos" + "!".repeat(message.shouts ? 3_000_000 : 0));
            await context.services.get("mongodb-atlas").db("Test").collection("Told").insertOne({
                _id: message._id, bytes: (message.photo || "").length,
            });
        };
        """
    }

    @Test func `an event that is too large for a message is dead-lettered, and others go on`() async throws {
        let fixture = try await TriggersFixture.shared()
        var app = TriggerApp(functions: ["tell": Self.source(isMended: false)], triggers: ["Message": "tell"])
        try await fixture.deploy(app)
        let messages = fixture.store.collection("Message", database: "Test", app: app.id)
        let told = fixture.store.collection("Told", database: "Test", app: app.id)
        let photo = String(repeating: "x", count: 3_000_000)
        _ = try await messages.insertOne(["_id": 1, "photo": .string(photo)])
        _ = try await messages.insertOne(["_id": 2, "photo": "small", "shouts": true])
        _ = try await messages.insertOne(["_id": 3])
        try await eventually("the others are handled", within: patience) {
            try await told.findOne(["_id": 3]) != nil
        }
        try await eventually("both are announced", within: patience) { fixture.deadLetters(of: app).count == 2 }
        let letters = fixture.deadLetters(of: app)
        let large = try #require(letters.first { $0.event["documentKey"] == ["_id": 1] })
        #expect(large.isEventCut && large.event["fullDocument"] == nil && large.error.message.hasPrefix("no photos"))
        let loud = try #require(letters.first { $0.event["documentKey"] == ["_id": 2] })
        #expect(loud.error.message.hasPrefix("no photos!"))

        // Meanwhile there is a version without the trigger: the next one begins after these events.
        app.functions["tell"] = Self.source(isMended: true)
        let trigger = app.triggers.removeValue(forKey: "Message")
        try await fixture.deploy(app)
        app.triggers["Message"] = trigger
        try await fixture.deploy(app)
        let deployments = AppDeployments(
            client: fixture.postgres, registry: fixture.registry, loop: LoopGroup(1).next(), operator: "tests"
        ) { send in try await send(fixture.events) }
        // A dead letter is announced before its row is written.
        var kept: [Document] = []
        try await eventually("both are kept", within: patience) {
            kept = try await deployments.deadLetters(of: app.id, trigger: nil, after: 0, limit: 10)
            return kept.count == 2
        }
        for letter in kept {
            let number = try #require(letter["number"]?.int64Value)
            try await deployments.replayDeadLetter(number, of: app.id)
        }
        try await eventually("the replays are handled", within: patience) {
            let bytes = try await told.findOne(["_id": 1])?["bytes"], other = try await told.findOne(["_id": 2])
            return bytes == 3_000_000 && other != nil
        }
    }
}
