import BenchmarkRunner
import ChildProcesses
import EventLoop
import Postgres

/// Single-row inserts, each committed by itself and durable, by four connections that many tasks share, against pgbench with four
/// clients and the same prepared statement.
let pipelinedInserts = Benchmark(Figure("postgres.pipelined-inserts", .perSecond, goal: .ratio(atLeast: 0.8))) {
    bench in
    let url = try await bench.machine.database("inserts")
    var configuration = PostgresConfiguration(url: url)
    configuration.connections = 4
    configuration.settings = ["synchronous_commit": "on"]
    let loops = LoopGroup(1, name: "postgres")
    let body = String(repeating: "x", count: 200)
    let pgbench = Pgbench(url: url, directory: try await bench.machine.directory(), body: body)
    try pgbench.writeScript()
    let measurements = try await PostgresClient.withClient(configuration, on: loops) { client in
        try await client.execute("create table items (number int not null, body text not null)")
        return try await bench.compare {
            try await client.execute("truncate items")
            return try await Stopwatch.rate(128 * 60) {
                try await withThrowingDiscardingTaskGroup { group in
                    for _ in 0..<128 {
                        group.addTask(executorPreference: loops.next().taskExecutor) {
                            for number in 0..<60 {
                                try await client.execute(Pgbench.sql, [.int(Int64(number)), .text(body)])
                            }
                        }
                    }
                }
            }
        } reference: {
            try await client.execute("truncate items")
            return try await pgbench.transactionsPerSecond()
        }
    }
    await loops.shutDown()
    return measurements
}

private struct Pgbench {
    static let sql = "insert into items (number, body) values ($1::int, $2)"

    let url: String
    let directory: String
    let body: String

    private var script: String { directory + "/insert.sql" }

    func writeScript() throws {
        let text = """
            \\set number random(1, 1000000)
            insert into items (number, body) values (:number, :body);

            """
        try text.write(toFile: script, atomically: true, encoding: .utf8)
    }

    func transactionsPerSecond() async throws -> Double {
        let run = try await CapturedRun.run(
            "pgbench", ["-n", "-M", "prepared", "-c", "4", "-T", "2", "-f", script, "-D", "body=\(body)", url])
        guard run.status.isSuccess,
            let line = run.output.split(separator: "\n").first(where: { $0.hasPrefix("tps = ") }),
            let rate = Double(line.split(separator: " ")[2])
        else { throw BenchmarkError("pgbench: \(run.output)") }
        return rate
    }
}
