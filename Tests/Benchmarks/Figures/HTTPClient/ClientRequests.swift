import BenchmarkRunner
import CBenchmarkReferences
import EventLoop
import HTTPClient

/// GETs by one client with 32 of them under way, against libcurl's multi interface with as many. An nginx worker answers both.
let clientRequests = Benchmark(Figure("http-client.requests", .perSecond, goal: .ratio(atLeast: 0.5))) { bench in
    let nginx = try await Nginx.start(in: bench.machine)
    let url = "http://127.0.0.1:\(nginx.port)/location"
    let loops = LoopGroup(1, name: "client")
    let client = HTTPClient(loop: loops.next())
    let (tasks, requests) = (32, 500)
    let measurements = try await bench.compare {
        try await Stopwatch.rate(tasks * requests) {
            try await withThrowingDiscardingTaskGroup { group in
                for _ in 0..<tasks {
                    group.addTask(executorPreference: loops.next().taskExecutor) {
                        for _ in 0..<requests {
                            let response = try await client.send(HTTPClient.Request(url: url))
                            guard response.status == 200 else { throw BenchmarkError("status \(response.status)") }
                        }
                    }
                }
            }
        }
    } reference: {
        let seconds = try await Blocking.run {
            reference_http_get(url, Int32(tasks * requests), Int32(tasks), 30)
        }
        guard seconds > 0 else { throw BenchmarkError("libcurl got no answer") }
        return Double(tasks * requests) / seconds
    }
    await client.shutDown()
    await loops.shutDown()
    return measurements
}
