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

@testable import TriggerWorkers

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

    private static let minute: Int64 = 60_000
    /// 2026-01-01T00:00:00Z.
    private static let beginning: Int64 = 1_767_225_600_000

    private func schedule(_ expression: String, skips: Bool = false) throws -> TriggerDefinition.Schedule {
        let app = TriggerApp(
            functions: ["tick": "exports = () => null;"],
            more: [
                "triggers/tick.json": """
                {"name": "tick", "type": "SCHEDULED", "disabled": false,
                 "config": {"schedule": "\(expression)", "skip_catchup_events": \(skips)},
                 "event_processors": {"FUNCTION": {"config": {"function_name": "tick"}}}}
                """
            ])
        guard case .schedule(let schedule)? = try AppDefinition(files: app.files).triggers.first?.event else {
            throw ScheduleMissing()
        }
        return schedule
    }

    private struct ScheduleMissing: Error {}

    @Test func `of two workers that look every second, one runs each scheduled time, and only then`() async throws {
        let table = ScheduleTable(client: try await TriggersFixture.shared().postgres)
        let app = TriggerApp().id
        for (expression, meant) in [("* * * * *", Array(1...10)), ("*/5 * * * *", [5, 10]), ("30 9 * * *", [])] {
            let schedule = try schedule(expression)
            var runs: [Int64] = []
            for second in 0...(10 * 60) {
                let now = Self.beginning + Int64(second) * 1000 + 7
                async let first = table.take(schedule, app: app, trigger: expression, now: now)
                async let second = table.take(schedule, app: app, trigger: expression, now: now)
                for case .run(let run)? in try await [first, second] {
                    #expect(now - run.at < 1000)
                    runs.append(run.at)
                    try await table.finish(run)
                }
            }
            #expect(runs == meant.map { Self.beginning + Int64($0) * Self.minute }, "\(expression)")
        }
    }

    @Test func `a worker whose clock is ahead takes nothing before its time, or it is repaired`() async throws {
        let postgres = try await TriggersFixture.shared().postgres, table = ScheduleTable(client: postgres)
        let app = TriggerApp().id, schedule = try schedule("* * * * *")
        func takeAhead(_ minutes: Int64) async throws -> ScheduleTable.Taken? {
            let now = WallClock.system.now() + minutes * Self.minute
            return try await table.take(schedule, app: app, trigger: "t", now: now)
        }
        func taken() async throws -> Int64? {
            try await postgres.query(
                "select (extract(epoch from taken - now()))::bigint from partita.trigger_schedules where app = $1",
                [.text(app)]
            ).decode(Int64.self).first
        }
        #expect(try await takeAhead(180) == nil)
        for minutes: Int64 in 181...190 { _ = try await takeAhead(minutes) }
        #expect(try #require(await taken()) <= 0)
        try await postgres.execute(
            "update partita.trigger_schedules set taken = now() + interval '10 years' where app = $1", [.text(app)])
        _ = try await takeAhead(0)
        #expect(try #require(await taken()) <= 0)
    }

    @Test func `a scheduled time is skipped while the run before it isn't done`() async throws {
        let table = ScheduleTable(client: try await TriggersFixture.shared().postgres)
        let app = TriggerApp().id
        let schedule = try schedule("* * * * *")
        func take(_ minutes: Int64) async throws -> ScheduleTable.Taken? {
            try await table.take(schedule, app: app, trigger: "often", now: Self.beginning + minutes * Self.minute)
        }
        #expect(try await take(0) == nil)
        guard case .run(let first)? = try await take(1) else {
            Issue.record("it doesn't run")
            return
        }
        for minutes: Int64 in [2, 3] {
            guard case .overlapping(let run)? = try await take(minutes) else {
                Issue.record("it overlaps")
                return
            }
            #expect(run.at == Self.beginning + minutes * Self.minute)
        }
        try await table.finish(first)
        guard case .run(let next)? = try await take(4) else {
            Issue.record("it doesn't run again")
            return
        }
        try await table.finish(next)
    }

    @Test func `a trigger has no scheduled time from before it was deployed as it is`() async throws {
        let table = ScheduleTable(client: try await TriggersFixture.shared().postgres)
        let app = TriggerApp().id, schedule = try schedule("*/10 * * * *")
        func take(_ minutes: Int64, since: Int64) async throws -> ScheduleTable.Taken? {
            try await table.take(
                schedule, app: app, trigger: "t", since: Self.beginning + since * Self.minute,
                now: Self.beginning + minutes * Self.minute)
        }
        #expect(try await take(1, since: 0) == nil)
        // Disabled until then.
        #expect(try await take(55, since: 51) == nil)
        guard case .run(let run)? = try await take(60, since: 51) else {
            Issue.record("it doesn't run")
            return
        }
        #expect(run.at == Self.beginning + 60 * Self.minute)
        try await table.finish(run)
    }

    @Test func `of missed scheduled times the last one is run, or none`() async throws {
        let table = ScheduleTable(client: try await TriggersFixture.shared().postgres)
        let app = TriggerApp().id
        for skips in [false, true] {
            let schedule = try schedule("*/10 * * * *", skips: skips)
            func take(_ minutes: Int64, _ milliseconds: Int64 = 0) async throws -> ScheduleTable.Taken? {
                try await table.take(
                    schedule, app: app, trigger: "missed-\(skips)",
                    now: Self.beginning + minutes * Self.minute + milliseconds)
            }
            #expect(try await take(0) == nil)
            let taken = try await take(95)
            switch taken {
            case .run(let run)? where !skips:
                #expect(run.at == Self.beginning + 90 * Self.minute)
                try await table.finish(run)
            case .missed(let run)? where skips: #expect(run.at == Self.beginning + 90 * Self.minute)
            default: Issue.record("what is taken: \(String(describing: taken))")
            }
            #expect(try await take(96) == nil)
            // A worker that is only a little late has missed nothing.
            guard case .run(let run)? = try await take(100, 5000) else {
                Issue.record("the next time isn't taken")
                return
            }
            try await table.finish(run)
        }
    }

    /// On the clock of the machine, with two processes: nothing here decides when a minute is over.
    @Test func `two workers run a function each minute once`() async throws {
        let workers = try await Workers()
        let processes = [try workers.start(), try workers.start()]
        defer { for process in processes { process.signal(SIGKILL) } }
        let app = TriggerApp(
            functions: [
                "tick": """
                exports = async () => {
                    const ticks = context.services.get("mongodb-atlas").db("Test").collection("Tick");
                    await ticks.insertOne({ at: new Date() });
                };
                """
            ],
            more: [
                "triggers/tick.json": """
                {"name": "tick", "type": "SCHEDULED", "disabled": false, "config": {"schedule": "* * * * *"},
                 "event_processors": {"FUNCTION": {"config": {"function_name": "tick"}}}}
                """
            ])
        let definition = try AppDefinition(files: app.files)
        try await PostgresClient.withClient(PostgresConfiguration(url: workers.databaseURL), on: LoopGroup(1)) {
            client in
            try await eventually("the workers have their tables", within: patience) {
                try await client.query("select to_regclass('partita.trigger_moments') is not null").first?.decode(0)
                    ?? false
            }
            _ = try await AppRegistry(client: client).deploy(definition)
            try await eventually("the schedule has begun", within: patience) {
                try await !client.query("select from partita.trigger_schedules").isEmpty
            }
            let start = WallClock.system.now()
            let store = DocumentStore(client: client)
            store.define(AppStorage(definition))
            let ticks = store.collection("Tick", database: "Test", app: app.id)
            let firstMinute = start / Self.minute + 1
            try await eventually("two minutes have begun", within: .seconds(130)) {
                try await ticks.find().count >= 2
            }
            let end = WallClock.system.now()
            let minutes = try await ticks.find().compactMap { $0["at"]?.dateValue.map { $0 / Self.minute } }.sorted()
            #expect(minutes == Array(firstMinute...(end / Self.minute)))
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
            try await eventually("the worker has its tables", within: patience) {
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
            try await eventually("the run has begun", within: patience) {
                try await runs.findOne(["_id": "begun"])?["times"] == 1
            }
            first.signal(SIGKILL)
            _ = await first.wait()
            _ = try await store.collection("Go", database: "Test", app: app.id).insertOne(["_id": 1])
            let second = try workers.start()
            defer { second.signal(SIGKILL) }
            try await eventually("the run is done", within: patience) {
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

extension ScheduleTable {
    /// Takes what is due now of a trigger that has been deployed since a time.
    fileprivate func take(
        _ schedule: TriggerDefinition.Schedule, app: String, trigger: String, since beginning: Int64 = .min, now: Int64
    ) async throws -> Taken? {
        try await take(
            schedule, app: app, trigger: trigger, since: beginning, now: now, after: try await standing())
    }
}
