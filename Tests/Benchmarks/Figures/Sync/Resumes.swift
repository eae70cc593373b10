import BenchmarkRunner
import DocumentModel
import DocumentStore
import EventLoop
import Postgres
import SyncEngine

import struct Foundation.UUID

/// Partitions per second that devices open again that have everything, and whose grants are known, as after a restart of a gateway: 80
/// devices with 5 partitions each. Against one indexed look-up for each, in turns.
let resumes = Benchmark(Figure("sync.resumes", .perSecond, goal: .ratio(atLeast: 0.5))) { bench in
    let system = try await RunningSystem.shared(on: bench.machine)
    let loops = LoopGroup(1, name: "resumes")
    var postgres = PostgresConfiguration(url: try await bench.machine.postgres())
    postgres.connections = 1
    let measurements = try await PostgresClient.withClient(postgres, on: loops) { client in
        let store = DocumentStore(client: client)
        store.define(
            AppStorage(
                app: RunningSystem.app, syncDatabase: "Bench", partitionKey: "partition",
                syncedCollections: [Note.collection]))
        let notes = store.collection(Note.collection, database: "Bench", app: RunningSystem.app)
        let run = UUID().uuidString
        let partitions = (0..<400).map { Partition(text: "s:resumes-\(run)-\($0)") }
        for (number, partition) in partitions.enumerated() {
            _ = try await notes.insertOne(Note(id: "\(run)-\(number)", partition: partition, number: 0).document)
        }
        let devices = try await Blocking.run {
            try (0..<80).map { number in
                let device = try system.connect(UUID().uuidString)
                for partition in partitions[number * 5..<number * 5 + 5] { try device.open(partition) }
                return device
            }
        }
        defer { for device in devices { device.socket.close() } }
        return try await bench.compare {
            try await Stopwatch.rate(partitions.count) {
                try await Blocking.run { try devices.open(partitions, at: Revision(epoch: 1, number: 1)) }
            }
        } reference: {
            try await Stopwatch.rate(partitions.count) {
                for partition in partitions {
                    let rows = try await client.query(
                        "select epoch, head from partita.partitions where app = $1 and partition = $2",
                        [.text(RunningSystem.app), .text(partition.text)])
                    guard rows.count == 1 else { throw BenchmarkError("no head") }
                }
            }
        }
    }
    await loops.shutDown()
    return measurements
}

extension [BenchmarkDevice] {
    /// Each device opens its share of the partitions, and waits until it is live. Blocks.
    func open(_ partitions: [Partition], at checkpoint: Revision) throws {
        let share = partitions.count / count
        for (number, device) in enumerated() {
            for partition in partitions[number * share..<(number + 1) * share] {
                try device.send(.subscribe(partition: partition, checkpoint: checkpoint))
            }
        }
        for device in self {
            for _ in 0..<share {
                try device.wait(for: "final download") { frame in
                    if case .download(_, let download) = frame { download.catchUp?.isFinal == true } else { false }
                }
            }
        }
    }
}
