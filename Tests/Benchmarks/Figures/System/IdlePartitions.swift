import BenchmarkRunner
import EventLoop
import Glibc
import Postgres

/// What the services and Postgres compute in a second in which nobody does anything, with few partitions and with a million of which
/// everything is published and handled: what keeps watch must not grow with what is stored.
///
/// It is the last benchmark, since the partitions stay.
let idlePartitions = Benchmark(
    Figure("system.idle", .milliseconds, goal: .value(atMost: 60)),
    Figure("system.idle.million", .milliseconds, goal: .value(atMost: 100))
) { bench in
    let system = try await RunningSystem.shared(on: bench.machine)
    var configuration = PostgresConfiguration(url: try await bench.machine.postgres())
    configuration.connections = 1
    let loops = LoopGroup(1, name: "idle")
    let measurements = try await PostgresClient.withClient(configuration, on: loops) { client in
        let server = try await client.query("select pg_backend_pid()").decode(Int32.self)[0]
        let parents = [system.process, try ProcessTimes.read(server).parent]
        // What earlier benchmarks have left to do.
        try await Task.sleep(for: .seconds(20))
        let few = try await load(of: parents, for: .seconds(60))
        // On the client's only connection.
        try await client.execute("set statement_timeout = 0")
        for statement in statements { try await client.execute(statement) }
        // The searches that are under way, and the statistics of the new rows.
        try await Task.sleep(for: .seconds(60))
        return [Measurement(value: few), Measurement(value: try await load(of: parents, for: .seconds(240)))]
    }
    await loops.shutDown()
    return measurements
}

private let statements =
    [("partitions", "head"), ("published", "revision")].map { table, number in
        """
        insert into partita.\(table) (app, partition, epoch, \(number))
        select '\(RunningSystem.app)', 's:idle' || md5(n::text), 1, 3 from generate_series(1, 1000000) n
        """
    } + [
        """
        insert into partita.handled_events (consumer, app, partition, epoch, epoch_begin, watermark)
        select consumer, '\(RunningSystem.app)', 's:idle' || md5(n::text), 1, 1, 3
        from generate_series(1, 1000000) n, unnest('{permissions,trigger-workers,media-offload}'::text[]) consumer
        """,
        "vacuum analyze partita.partitions, partita.published, partita.handled_events",
    ]

/// The milliseconds of CPU time per second that processes and their children take.
private func load(of parents: [Int32], for time: Duration) async throws -> Double {
    let before = try ProcessTimes.ofFamilies(parents)
    try await Task.sleep(for: time)
    let after = try ProcessTimes.ofFamilies(parents)
    // Processes that end in between are few, and short-lived.
    let used = after.reduce(0) { $0 + $1.value - (before[$1.key] ?? 0) }
    return used * 1000 / (time / .seconds(1))
}
