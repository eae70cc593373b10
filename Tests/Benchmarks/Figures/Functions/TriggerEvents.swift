import BenchmarkRunner
import DocumentModel
import DocumentStore
import EventLoop
import Postgres
import SyncEngine

/// Events per second that triggers handle whose function does nothing, from the insert of the documents to the last event that is marked
/// as handled, through relay, broker and trigger-workers. Against single-row inserts, each committed, by as many tasks as the workers
/// run an app's events at a time: no event is handled without one.
let triggerEvents = Benchmark(Figure("triggers.events", .perSecond, goal: .ratio(atLeast: 0.1))) { bench in
    try await TriggerWorld.with(bench, collection: "Ignored")
}

/// The same with a function that writes a document.
let triggerWrites = Benchmark(Figure("triggers.events.writing", .perSecond, goal: .ratio(atLeast: 0.1))) { bench in
    try await TriggerWorld.with(bench, collection: "Copied")
}

/// The same as the first with an ordered trigger: one event after the other. Against inserts of one task.
let triggerEventsInOrder = Benchmark(Figure("triggers.events.ordered", .perSecond, goal: .ratio(atLeast: 0.2))) {
    bench in
    try await TriggerWorld.with(bench, collection: "Counted", writers: 1)
}

private enum TriggerWorld {
    private static let events = 2000

    static func with(
        _ bench: BenchmarkRun, collection name: String, writers: Int = 16
    ) async throws -> [Measurement] {
        _ = try await RunningSystem.shared(on: bench.machine)
        var configuration = PostgresConfiguration(url: try await bench.machine.postgres())
        configuration.connections = 4
        configuration.settings = ["synchronous_commit": "on"]
        let loops = LoopGroup(1, name: "triggers")
        let measurements = try await PostgresClient.withClient(configuration, on: loops) { client in
            let store = DocumentStore(client: client)
            store.define(AppStorage(app: RunningSystem.app, syncDatabase: "Bench", partitionKey: nil))
            let collection = store.collection(name, database: "Bench", app: RunningSystem.app)
            try await client.execute("create table if not exists partita_bench_events (id text primary key)")
            func handled() async throws -> Int64 {
                try await client.query(
                    "select count(*) from partita.handled_event_ids where event_id like $1",
                    [.text("\(RunningSystem.app)/on\(name)/%")]
                ).first?.decode(0) ?? 0
            }
            return try await bench.compare(rounds: 3) {
                let before = try await handled()
                return try await Stopwatch.rate(events) {
                    for _ in 0..<(events / 500) {
                        try await collection.insertMany(
                            (0..<500).map { ["_id": .objectId(ObjectId()), "number": .int32(Int32($0))] })
                    }
                    let end = ContinuousClock.now + .seconds(60)
                    while try await handled() < before + Int64(events) {
                        guard ContinuousClock.now < end else { throw BenchmarkError("the events aren't handled") }
                        try await Task.sleep(for: .milliseconds(20))  // there is no event to wait for
                    }
                }
            } reference: {
                try await Stopwatch.rate(events) {
                    try await withThrowingDiscardingTaskGroup { group in
                        for task in 0..<writers {
                            group.addTask {
                                for _ in 0..<(events / writers) {
                                    try await client.execute(
                                        "insert into partita_bench_events values ($1)",
                                        [.text("\(task) \(ObjectId().hexString)")])
                                }
                            }
                        }
                    }
                }
            }
        }
        await loops.shutDown()
        return measurements
    }
}
