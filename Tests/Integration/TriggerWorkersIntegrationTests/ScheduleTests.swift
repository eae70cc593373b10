import AppDefinition
import AppRegistry
import ChildProcesses
import DocumentModel
import DocumentStore
import EventLoop
import Glibc
import Postgres
import ServiceEngines
import SyncEngine
import TestSupport
import Testing

@Suite struct ScheduleTests {
    /// Writes twice, and in between waits for a document.
    private static let waiting = """
        exports = async () => {
            const database = context.services.get("mongodb-atlas").db("Test");
            await database.collection("Run").updateOne({ _id: "begun" }, { $inc: { times: 1 } }, { upsert: true });
            while (!await database.collection("Go").findOne({})) await new Promise(resolve => setTimeout(resolve, 50));
            await database.collection("Run").updateOne({ _id: "done" }, { $inc: { times: 1 } }, { upsert: true });
        };
        """

    /// A worker in a process of its own, on a database of its own.
    private struct Workers {
        let databaseURL: String
        private let environment: [String: String]

        init() async throws {
            let engines = try await TestEngines.shared()
            databaseURL = try await engines.makeDatabase()
            environment = CurrentEnvironment.variables.merging([
                "PARTITA_HTTP_ADDRESS": "127.0.0.1", "PARTITA_HTTP_PORT": "0", "PARTITA_LOOPS": "1",
                "PARTITA_POSTGRES_URL": databaseURL, "PARTITA_REDIS_URL": engines.redisURL,
                "PARTITA_KAFKA_BOOTSTRAP": engines.kafka.bootstrapServers,
                "PARTITA_KAFKA_EMBEDDED": "\(engines.kafka.embedded)", "PARTITA_KAFKA_POOL": engines.makePool(),
            ]) { _, own in own }
        }

        func start() throws -> ChildProcess {
            try ChildProcess.spawn(
                CurrentEnvironment.sibling("trigger-workers"), environment: environment, output: .file("/dev/null"))
        }
    }

    @Test func `a scheduled run of a killed worker is finished by another, and written once`() async throws {
        let workers = try await Workers()
        let first = try workers.start()
        defer { first.signal(SIGKILL) }
        let app = TriggerApp(functions: ["yearly": Self.waiting], scheduled: ["yearly"])
        let definition = try AppDefinition(files: app.files)
        try await PostgresClient.withClient(PostgresConfiguration(url: workers.databaseURL), on: LoopGroup(1)) {
            client in
            try await eventually("the worker has its tables", within: .seconds(30)) {
                try await client.query("select to_regclass('partita.trigger_moments') is not null").first?.decode(0)
                    ?? false
            }
            _ = try await AppRegistry(client: client).deploy(definition)
            let store = DocumentStore(client: client)
            store.define(AppStorage(definition))
            let runs = store.collection("Run", database: "Test", app: app.id)
            // As if a worker had taken the scheduled run and ended immediately.
            try await client.execute(
                """
                insert into partita.trigger_moments (app, trigger, moment, claimed_until)
                values ($1, 'atyearly', 1767225600000, now() - interval '1 second')
                """, [.text(app.id)])
            try await eventually("the run has begun", within: .seconds(30)) {
                try await runs.findOne(["_id": "begun"])?["times"] == 1
            }
            first.signal(SIGKILL)
            _ = await first.wait()
            _ = try await store.collection("Go", database: "Test", app: app.id).insertOne(["_id": 1])
            let second = try workers.start()
            defer { second.signal(SIGKILL) }
            try await eventually("the run is done", within: .seconds(40)) {
                try await runs.findOne(["_id": "done"])?["times"] == 1
            }
            #expect(try await runs.findOne(["_id": "begun"])?["times"] == 1)
            try await eventually("nothing of it is left") {
                try await client.query("select count(*) from partita.trigger_moments").first?.decode(0, as: Int.self)
                    == 0
            }
        }
    }
}
