import BenchmarkRunner
import EventLoop
import Postgres

/// Changes of a collection delivered to 100 streams (`watch`) per second, from the first byte to the last one, while the document store
/// inserts them. Against a loop of plain C that sends the same bytes to as many sockets, while as much is inserted where nobody listens.
let watchFanOut = Benchmark(Figure("watch.fan-out", .perSecond, goal: .ratio(atLeast: 0.1))) { bench in
    try await WatchAudience.with(bench, size: 100) { try await $0.deliveriesPerSecond() }
}

/// Changes that 100 streams have missed, delivered per second to those who resume, from the first connection on. Against the same loop.
let watchResumes = Benchmark(Figure("watch.resumes", .perSecond, goal: .ratio(atLeast: 0.1))) { bench in
    try await WatchAudience.with(bench, size: 100) { try await $0.missedPerSecond() }
}

extension WatchAudience {
    fileprivate static func with(
        _ bench: BenchmarkRun, size: Int, _ subject: @escaping @Sendable (WatchAudience) async throws -> Double
    ) async throws -> [Measurement] {
        let system = try await RunningSystem.shared(on: bench.machine)
        let loops = LoopGroup(1, name: "watch")
        let postgres = PostgresConfiguration(url: try await bench.machine.postgres())
        let measurements = try await PostgresClient.withClient(postgres, on: loops) { client in
            let audience = try await WatchAudience(system, client: client, size: size)
            let measurements = try await bench.compare {
                try await subject(audience)
            } reference: {
                try await audience.plainDeliveriesPerSecond()
            }
            await audience.close()
            return measurements
        }
        await loops.shutDown()
        return measurements
    }
}
