import BenchmarkRunner
import ChildProcesses
import EventLoop
import Redis

/// GETs by one connection with 64 of them under way, as 64 tasks of one loop that share a client, against redis-benchmark with its
/// pipelines of 64.
let redisGets = Benchmark(Figure("redis.gets", .perSecond, goal: .ratio(atLeast: 0.4))) { bench in
    let url = try await bench.machine.redis()
    let configuration = try RedisConfiguration(url: url)
    let loops = LoopGroup(1, name: "redis")
    let key = "key:__rand_int__"  // the one that redis-benchmark asks for
    let measurements = try await RedisClient.withClient(configuration, on: loops) { client in
        _ = try await client.command(["SET", key, "xxx"])
        return try await bench.compare {
            try await Stopwatch.rate(64 * 8_000) {
                try await withThrowingDiscardingTaskGroup { group in
                    for _ in 0..<64 {
                        group.addTask(executorPreference: loops.next().taskExecutor) {
                            for _ in 0..<8_000 { _ = try await client.command(["GET", key]) }
                        }
                    }
                }
            }
        } reference: {
            try await RedisBenchmark.getsPerSecond(port: configuration.port, host: configuration.host)
        }
    }
    await loops.shutDown()
    return measurements
}

/// Redis' own load generator: one connection, pipelines of 64.
private enum RedisBenchmark {
    static func getsPerSecond(port: Int, host: String) async throws -> Double {
        let run = try await CapturedRun.run(
            "redis-benchmark",
            ["-h", host, "-p", "\(port)", "-c", "1", "-P", "64", "-n", "1000000", "-t", "get", "--csv"])
        guard run.status.isSuccess,
            let line = run.output.split(separator: "\n").first(where: { $0.hasPrefix("\"GET\"") }),
            let rate = Double(line.split(separator: ",")[1].replacing("\"", with: ""))
        else { throw BenchmarkError("redis-benchmark: \(run.output)") }
        return rate
    }
}
