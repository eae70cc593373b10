import BenchmarkRunner

/// Every benchmark, in the order in which they run.
enum Registry {
    static let benchmarks: [Benchmark] = [
        commitToDevice,
        httpRequests, webSocketIdleBytes, pipelinedInserts, redisGets,
    ]
}
