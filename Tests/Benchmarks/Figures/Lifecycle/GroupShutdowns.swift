import BenchmarkRunner
import Lifecycle
import Logging

/// Groups of 100 services that start and shut down gracefully, one service after the other, against as many bare tasks that are woken
/// and awaited in the same order.
let groupShutdowns = Benchmark(Figure("lifecycle.shutdowns", .perSecond, goal: .ratio(atLeast: 0.1))) { bench in
    let services = 100
    var quiet = Logger(label: "benchmark")
    quiet.logLevel = .error  // not a line for each service
    let logger = quiet
    let groups = 100
    return try await bench.compare {
        try await Stopwatch.rate(groups) {
            for _ in 0..<groups {
                let group = ServiceGroup(
                    services: [IdleService](repeating: IdleService(), count: services), logger: logger)
                async let end: Void = group.run()
                group.triggerGracefulShutdown()
                try await end
            }
        }
    } reference: {
        await Stopwatch.rate(groups) {
            for _ in 0..<groups {
                let tasks = (0..<services).map { _ in AsyncStream.makeStream(of: Void.self) }.map { stream, end in
                    (Task { for await _ in stream {} }, end)
                }
                for (task, end) in tasks.reversed() {
                    end.finish()
                    await task.value
                }
            }
        }
    }
}

private struct IdleService: Service {
    func run() async throws { try await gracefulShutdown() }
}
