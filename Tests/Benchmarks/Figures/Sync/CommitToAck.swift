import BenchmarkRunner
import DocumentModel
import Foundation
import SyncEngine

/// One device that sends a changeset when the one before was acknowledged: the time of each, which nothing can be gathered with. Against
/// one insert that plain libpq commits.
let commitToAck = Benchmark(
    Figure("sync.commit-to-ack.p50", .milliseconds, goal: .ratio(atLeast: 0.13)),
    Figure("sync.commit-to-ack.p99", .milliseconds, goal: .ratio(atLeast: 0.1))
) { bench in
    let system = try await RunningSystem.shared(on: bench.machine)
    let reference = try await CommitAndMessage(on: bench.machine)
    defer { reference.close() }
    return try await Blocking.run {
        guard let partition = Partition(value: .string("serial-\(UUID().uuidString)")) else {
            throw BenchmarkError("no partition")
        }
        let device = try system.connect("serial")
        try device.open(partition)
        defer { device.socket.close() }
        var version: Int64 = 0
        func write() throws -> Double {
            version += 1
            let note = Note(id: "serial-\(version)", partition: partition, number: version)
            let frame = String(decoding: note.upload(version: version).encoded(), as: UTF8.self)
            let start = ContinuousClock.now
            try device.socket.send(frame)
            try device.wait(for: "ack") { if case .ack = $0 { true } else { false } }
            return (ContinuousClock.now - start) / .milliseconds(1)
        }
        return try percentiles(ours: { Samples(try (0..<300).map { _ in try write() }) }) {
            Samples(try (0..<300).map { _ in try reference.commitMilliseconds() })
        }
    }
}
