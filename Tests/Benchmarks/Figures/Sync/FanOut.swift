import BenchmarkRunner

/// Changes of one partition delivered to 1,000 devices' sockets per second, from the first byte to the last one, while another device
/// writes as fast as it gets acknowledgements. Against a loop of plain C that sends the same bytes in the same frames to as many
/// sockets, read by the same reader.
let fanOut = Benchmark(Figure("sync.fan-out", .perSecond, goal: .ratio(atLeast: 0.6))) { bench in
    let system = try await RunningSystem.shared(on: bench.machine)
    let audience = try await Audience(system, size: 1_000)
    let measurements = try await bench.compare {
        try await audience.deliveriesPerSecond()
    } reference: {
        try await audience.plainDeliveriesPerSecond()
    }
    await audience.close()
    return measurements
}
