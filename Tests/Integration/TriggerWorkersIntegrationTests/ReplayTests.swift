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
}
