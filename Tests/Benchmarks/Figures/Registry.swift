import BenchmarkRunner

/// Every benchmark, in the order in which they run.
enum Registry {
    static let benchmarks: [Benchmark] = [
        httpRequests, webSocketIdleBytes, pipelinedInserts, redisGets,
    ]
}
