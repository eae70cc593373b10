import BenchmarkRunner
import DocumentModel
import DocumentStore
import EventLoop
import Foundation
import Postgres

/// Objects per second that a new client of the Realm protocol gets of a partition with 100,000, from its first message to the answer that
/// it has everything. Against a new device that gets the same documents. What the first client of all costs, for whom the partition's
/// history is made, isn't in it: that is the round that isn't counted.
let realmBootstrap = bootstrap("realm.bootstrap", objects: 100_000)

/// The same with 1,000.
let realmSmallBootstrap = bootstrap("realm.bootstrap.small", objects: 1_000)

private func bootstrap(_ name: String, objects: Int) -> Benchmark {
    Benchmark(Figure(name, .perSecond, goal: .ratio(atLeast: 0.7))) { bench in
        let system = try await RunningSystem.shared(on: bench.machine)
        let loops = LoopGroup(1, name: "realm-bootstrap")
        let postgres = PostgresConfiguration(url: try await bench.machine.postgres())
        let measurements = try await PostgresClient.withClient(postgres, on: loops) { client in
            let partition = Partition(text: "s:realm-bootstrap-\(UUID().uuidString)")
            let last = try await fill(partition, documents: objects, by: client)
            return try await bench.compare {
                try await Blocking.run {
                    let realm = try system.connectRealm()
                    defer { realm.socket.close() }
                    return Double(objects) / (try realm.bootstrap(partition))
                }
            } reference: {
                try await Blocking.run {
                    let device = try system.connect(UUID().uuidString)
                    defer { device.socket.close() }
                    return Double(objects) / (try device.sync(partition, upTo: last))
                }
            }
        }
        await loops.shutDown()
        return measurements
    }
}

extension BenchmarkRealmClient {
    /// Opens a partition of which the client has nothing, and receives all of it. Blocks.
    /// - Returns: how many seconds that took.
    fileprivate func bootstrap(_ partition: Partition) throws -> Double {
        let start = ContinuousClock.now
        try begin(partition)
        try socket.receive(upTo: Self.mark)
        return (ContinuousClock.now - start) / .seconds(1)
    }
}
