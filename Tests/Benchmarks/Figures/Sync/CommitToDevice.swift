import BenchmarkRunner
import CBenchmarkReferences
import DocumentModel
import EventLoop
import Foundation
import Kafka

/// From the moment when a device sends a changeset to the moment when another device has the frame with it: through the gateway, a
/// durable commit, the relay, the broker and the gateway again. Against one insert that plain libpq commits and one message that plain
/// librdkafka sends and receives.
let commitToDevice = Benchmark(
    Figure("sync.commit-to-device.p50", .milliseconds, goal: .ratio(atLeast: 0.3)),
    Figure("sync.commit-to-device.p99", .milliseconds, goal: .ratio(atLeast: 0.2))
) { bench in
    let system = try await RunningSystem.shared(on: bench.machine)
    let reference = try await CommitAndMessage(on: bench.machine)
    defer { reference.close() }
    return try await Blocking.run {
        let partition = Partition(value: .string("latency-\(UUID().uuidString)"))
        guard let partition else { throw BenchmarkError("no partition") }
        let (writer, reader) = (try system.connect("writer"), try system.connect("reader"))
        try writer.open(partition)
        try reader.open(partition)
        defer {
            writer.socket.close()
            reader.socket.close()
        }
        var version: Int64 = 0
        func sync() throws -> Double {
            version += 1
            let note = Note(id: "note-\(version)", partition: partition, number: version)
            let frame = String(decoding: note.upload(version: version).encoded(), as: UTF8.self)
            let start = ContinuousClock.now
            try writer.socket.send(frame)
            try reader.wait(for: "download") { if case .download = $0 { true } else { false } }
            let time = (ContinuousClock.now - start) / .milliseconds(1)
            try writer.wait(for: "ack") { if case .ack = $0 { true } else { false } }
            return time
        }
        return try percentiles(ours: { Samples(try (0..<300).map { _ in try sync() }) }) {
            Samples(try (0..<300).map { _ in try reference.milliseconds() })
        }
    }
}

/// The reference: libpq and librdkafka, nothing in between.
// Unchecked: used by one thread at a time.
final class CommitAndMessage: @unchecked Sendable {
    private let handle: OpaquePointer

    init(on machine: Machine) async throws {
        let url = try await machine.database("latency")
        let broker = try await machine.kafka()
        let topic = "bench-latency-\(UUID().uuidString.prefix(8).lowercased())"
        try await KafkaAdmin(
            configuration: KafkaConfiguration(bootstrapServers: broker.bootstrap, embedded: broker.isEmbedded)
        ).createTopics([KafkaTopic(name: topic, partitions: 1)])
        let opened = reference_latency_open(url, broker.bootstrap, topic, broker.isEmbedded)
        guard let opened else { throw BenchmarkError("the reference can't reach Postgres or the broker") }
        handle = opened
    }

    /// One commit without a message.
    func commitMilliseconds() throws -> Double {
        let seconds = reference_latency_commit(handle)
        if seconds < 0 { throw BenchmarkError("the reference lost Postgres") }
        return seconds * 1000
    }

    func milliseconds() throws -> Double {
        let seconds = reference_latency_measure(handle)
        if seconds < 0 { throw BenchmarkError("the reference lost Postgres or the broker") }
        return seconds * 1000
    }

    func close() { reference_latency_close(handle) }
}
