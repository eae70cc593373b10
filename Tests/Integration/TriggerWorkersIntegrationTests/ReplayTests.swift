import AppDeployment
import DocumentModel
import DocumentStore
import EventLoop
import TestSupport
import Testing

/// Events that a trigger has failed on, published again by an operator.
struct ReplayTests {
    /// Reads why it fails before it writes something.
    private static let logging = """
        exports = async ({ documentKey }) => {
            const database = context.services.get("mongodb-atlas").db("Test");
            const isOn = await database.collection("Switch").findOne({ _id: 1 });
            await database.collection("Audit").insertOne({ of: documentKey._id });
            if (!isOn) throw new Error("it is off");
            await database.collection("Done").insertOne({ _id: documentKey._id });
        };
        """

    @Test func `a replay goes on after what the run has read and written, or begins anew`() async throws {
        let fixture = try await TriggersFixture.shared()
        let app = TriggerApp(functions: ["log": Self.logging], triggers: ["Message": "log"])
        try await fixture.deploy(app)
        func collection(_ name: String) -> DocumentCollection {
            fixture.store.collection(name, database: "Test", app: app.id)
        }
        let deployments = AppDeployments(
            client: fixture.postgres, registry: fixture.registry, loop: LoopGroup(1).next(), operator: "tests"
        ) { send in try await send(fixture.events) }
        func letter(after number: Int64 = 0) async throws -> Int64 {
            try await eventually("there is a dead letter after \(number)", within: patience) {
                try await deployments.deadLetters(of: app.id, trigger: nil, after: number, limit: 10)
                    .first?["number"]?.int64Value
            }
        }
        _ = try await collection("Message").insertOne(["_id": 7])
        let first = try await letter()
        _ = try await collection("Switch").insertOne(["_id": 1])
        try await deployments.replayDeadLetter(first, of: app.id)
        let second = try await letter(after: first)
        #expect(try await collection("Audit").countDocuments([:]) == 1)
        try await deployments.replayDeadLetter(second, of: app.id, anew: true)
        try await eventually("it is done", within: patience) { try await collection("Done").findOne(["_id": 7]) != nil }
        #expect(try await collection("Audit").countDocuments([:]) == 2)
        #expect(try await deployments.deadLetters(of: app.id, trigger: nil, after: 0, limit: 10).isEmpty)
    }

    @Test func `events that waited in the lane of an ordered trigger run at the same time once it is unordered`()
        async throws
    {
        let fixture = try await TriggersFixture.shared()
        var app = TriggerApp(
            functions: [
                "wait": """
                exports = async ({ documentKey }) => {
                    const database = context.services.get("mongodb-atlas").db("Test");
                    await database.collection("Began").insertOne(documentKey);
                    await new Promise(done => setTimeout(done, 100));
                    await database.collection("Ended").insertOne(documentKey);
                };
                """
            ], triggers: ["Message": "wait"])
        try await fixture.deploy(app)
        func count(_ collection: String) async throws -> Int {
            try await fixture.store.collection(collection, database: "Test", app: app.id).countDocuments([:])
        }
        _ = try await fixture.store.collection("Message", database: "Test", app: app.id)
            .insertMany((0..<300).map { ["_id": .int32($0)] })
        try await eventually("some have run", within: patience) { try await count("Ended") > 5 }
        app.isUnordered = true
        try await fixture.deploy(app)
        try await eventually("several run at the same time", within: patience) {
            // Those that begin between the two counts aren't counted.
            let began = try await count("Began")
            return try await began - count("Ended") > 2
        }
        try await eventually("all have run", within: patience) { try await count("Ended") == 300 }
    }
}
