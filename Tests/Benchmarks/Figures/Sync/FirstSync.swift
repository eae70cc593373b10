import BenchmarkRunner
import CBenchmarkReferences
import DocumentModel
import DocumentStore
import EventLoop
import Postgres
import SyncEngine

import struct Foundation.UUID

/// Documents per second that a new device gets of a partition with 20,000, from the subscription to the last document. Against the same
/// documents in the same order, read by one statement and sent nowhere.
let firstSync = Benchmark(Figure("sync.first-sync", .perSecond, goal: .ratio(atLeast: 0.2))) { bench in
    try await compareFirstSyncs(bench, documents: 20_000)
}

/// The same with 200,000: the rate must not fall with the size.
let largeFirstSync = Benchmark(Figure("sync.first-sync.large", .perSecond, goal: .ratio(atLeast: 0.2))) { bench in
    try await compareFirstSyncs(bench, documents: 200_000)
}

private func compareFirstSyncs(_ bench: BenchmarkRun, documents: Int) async throws -> [Measurement] {
    let system = try await RunningSystem.shared(on: bench.machine)
    let loops = LoopGroup(1, name: "first-sync")
    let postgres = PostgresConfiguration(url: try await bench.machine.postgres())
    let measurements = try await PostgresClient.withClient(postgres, on: loops) { client in
        let partition = Partition(text: "s:first-sync-\(UUID().uuidString)")
        let last = try await fill(partition, documents: documents, by: client)
        return try await bench.compare {
            try await Blocking.run {
                let device = try system.connect(UUID().uuidString)
                defer { device.socket.close() }
                return Double(documents) / (try device.sync(partition, upTo: last))
            }
        } reference: {
            try await Stopwatch.rate(documents) {
                var count = 0
                try await client.withTransaction { transaction in
                    let rows = transaction.stream(
                        #"select body from "bench/Bench"."Note" where partition = $1 order by epoch, revision"#,
                        [.text(partition.text)])
                    for try await _ in rows { count += 1 }
                }
                guard count == documents else { throw BenchmarkError("\(count) documents instead of \(documents)") }
            }
        }
    }
    await loops.shutDown()
    return measurements
}

/// Inserts documents into an empty partition, as a function does.
/// - Parameter documents: how many; a multiple of 1,000.
/// - Returns: a text that only the last one has.
func fill(_ partition: Partition, documents: Int, by client: PostgresClient) async throws -> String {
    let store = DocumentStore(client: client)
    store.define(
        AppStorage(
            app: RunningSystem.app, syncDatabase: "Bench", partitionKey: "partition",
            syncedCollections: [Note.collection]))
    let notes = store.collection(Note.collection, database: "Bench", app: RunningSystem.app)
    let run = UUID().uuidString
    for start in stride(from: 0, to: documents, by: 1000) {
        try await notes.insertMany(
            (start..<start + 1000).map {
                Note(id: "\(run)-\($0)-x", partition: partition, number: Int64($0)).document
            })
    }
    try await client.execute(#"analyze "bench/Bench"."Note""#)
    return "\(run)-\(documents - 1)-x"
}

extension WebSocketClientSocket {
    /// Receives messages up to one with a text. Blocks.
    func receive(upTo last: String) throws {
        var record: [UInt8] = [0]
        var recorded = record.count
        var arrival = reference_arrival()
        let status = reference_receive_all([descriptor], 1, last, 120, &record, &recorded, &arrival)
        try Self.check(Int(status), "receiving")
    }
}

extension BenchmarkDevice {
    /// Opens a partition of which the device has nothing, and receives it up to a document.
    /// - Returns: how many seconds that took.
    func sync(_ partition: Partition, upTo last: String) throws -> Double {
        let start = ContinuousClock.now
        try send(.subscribe(partition: partition, checkpoint: Revision(epoch: 0, number: 0)))
        try socket.receive(upTo: last)
        return (ContinuousClock.now - start) / .seconds(1)
    }
}
