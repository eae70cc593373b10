import BenchmarkRunner

/// A conversation of a hundred readers, into which one device writes 20 messages a second: from when a message is due to when a reader has
/// it. Against one commit by libpq and one message by librdkafka on the same machine without load.
let quietConversation = steadyLoad(
    "sync.conversation", writers: 1, partitions: 1, readers: 100, messages: 40, perSecond: 20, goals: (0.15, 0.1))

/// The same with ten writers and 1,000 messages a second.
let busyConversation = steadyLoad(
    "sync.conversation.busy", writers: 10, partitions: 1, readers: 100, messages: 2_000, perSecond: 1_000,
    goals: (0.07, 0.05))

/// 1,000 devices in 200 partitions, into which 200 messages a second are written.
let manyConversations = steadyLoad(
    "sync.conversations", writers: 200, partitions: 200, readers: 4, messages: 400, perSecond: 200, goals: (0.15, 0.08))

private func steadyLoad(
    _ name: String, writers: Int, partitions: Int, readers: Int, messages: Int, perSecond: Double,
    goals: (p50: Double, p99: Double)
) -> Benchmark {
    Benchmark(
        Figure("\(name).p50", .milliseconds, goal: .ratio(atLeast: goals.p50)),
        Figure("\(name).p99", .milliseconds, goal: .ratio(atLeast: goals.p99))
    ) { bench in
        let system = try await RunningSystem.shared(on: bench.machine)
        let reference = try await CommitAndMessage(on: bench.machine)
        defer { reference.close() }
        return try await Blocking.run {
            let load = try OfferedLoad(system, writers: writers, partitions: partitions, readers: readers)
            defer { load.close() }
            return try percentiles(ours: { try load.measure(messages: messages, perSecond: perSecond).arrivals }) {
                Samples(try (0..<200).map { _ in try reference.milliseconds() })
            }
        }
    }
}

/// Five rounds after one to warm up.
/// - Returns: the measurements of p50 and p99.
func percentiles(ours: () throws -> Samples, reference: () throws -> Samples) throws -> [Measurement] {
    var (p50, p99) = (Measurement(), Measurement())
    for round in 0...5 {
        let (ours, reference) = (try ours(), try reference())
        if round == 0 { continue }
        p50.add(value: ours.percentile(0.5), reference: reference.percentile(0.5))
        p99.add(value: ours.percentile(0.99), reference: reference.percentile(0.99))
    }
    return [p50, p99]
}
