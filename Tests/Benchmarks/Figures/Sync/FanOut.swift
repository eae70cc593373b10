import BenchmarkRunner
import EventLoop
import Postgres

/// Changes of one partition delivered to 1,000 devices' sockets per second, from the first byte to the last one, while the document store
/// inserts them. (What a device's upload costs the gateway is `sync.acked-writes`.) Against a loop of plain C that sends the same bytes in
/// the same frames to as many sockets, read by the same reader, while as much is inserted where nobody listens.
let fanOut = Benchmark(Figure("sync.fan-out", .perSecond, goal: .ratio(atLeast: 0.6))) { bench in
    let system = try await RunningSystem.shared(on: bench.machine)
    let loops = LoopGroup(1, name: "fan-out")
    let postgres = PostgresConfiguration(url: try await bench.machine.postgres())
    let measurements = try await PostgresClient.withClient(postgres, on: loops) { client in
        let audience = try await Audience(system, client: client, size: 1_000)
        let measurements = try await bench.compare {
            try await audience.deliveriesPerSecond()
        } reference: {
            try await audience.plainDeliveriesPerSecond()
        }
        await audience.close()
        return measurements
    }
    await loops.shutDown()
    return measurements
}
