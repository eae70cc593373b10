import BenchmarkRunner

/// Every benchmark, in the order in which they run.
enum Registry {
    static let benchmarks: [Benchmark] = [
        commitToDevice, ackedWrites, fanOut,
        httpRequests, webSocketIdleBytes, pipelinedInserts, redisGets,
        jsonParse, jsonPrint,
        documentsFindOneById, documentsFindOneByIndex, documentsUpdateOneById, documentsInsertMany, documentsGroup,
        documentsImportDump,
    ]
}
