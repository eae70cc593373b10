import BenchmarkRunner
import EventLoop
import HTTPServer
import Logging
import Metrics

/// Requests that one loop answers, with the router and the metrics that every service has, against one nginx worker that answers from
/// its configuration.
let httpRequests = Benchmark(Figure("http.requests", .perSecond, goal: .ratio(atLeast: 0.4))) { bench in
    var router = HTTPRouter()
    router.get("/apps/:app/location") { _ in .json(Nginx.answer) }
    router.get("/health/live") { _ in .noContent }
    let loops = LoopGroup(1, name: "http")
    let server = HTTPServer(
        HTTPServerConfiguration(address: "127.0.0.1", port: 0), router: router, loops: loops.loops,
        logger: Logger(label: "benchmark"), registry: MetricsRegistry())
    try await server.start()
    let nginx = try await Nginx.start(in: bench.machine)

    let measurements = try await bench.compare {
        try await Wrk.requestsPerSecond("http://127.0.0.1:\(server.port)/apps/bench/location")
    } reference: {
        try await Wrk.requestsPerSecond("http://127.0.0.1:\(nginx.port)/apps/bench/location")
    }
    await server.stop(drainingFor: .zero)
    await loops.shutDown()
    return measurements
}
