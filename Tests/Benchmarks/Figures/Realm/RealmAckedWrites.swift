import BenchmarkRunner
import DocumentModel
import Foundation
import SyncEngine

/// Small writes that clients of the Realm protocol get acknowledged per second, each an upload of its own: 128 clients with a partition of
/// their own and 16 uploads of each in flight. Against as many devices with the gateway's own protocol that write the same.
let realmAckedWrites = acknowledged("realm.acked-writes", clients: 128, partitions: 128, writesEach: 32)

/// The same with one client, which waits for each acknowledgement.
let realmOneWriter = acknowledged("realm.acked-writes.one", clients: 1, partitions: 1, writesEach: 200, window: 1)

/// The same with ten clients.
let realmTenWriters = acknowledged("realm.acked-writes.ten", clients: 10, partitions: 10, writesEach: 100)

/// The same with ten clients in one partition, each of which receives the writes of all.
let realmSharedWrites = acknowledged("realm.acked-writes.shared", clients: 10, partitions: 1, writesEach: 50)

private func acknowledged(
    _ name: String, clients: Int, partitions: Int, writesEach: Int, window: Int = DevicePartition.uploadWindow
) -> Benchmark {
    Benchmark(Figure(name, .perSecond, goal: .ratio(atLeast: 0.7))) { bench in
        let system = try await RunningSystem.shared(on: bench.machine)
        let (realm, native) = try await Blocking.run {
            (
                try RealmUploaders(
                    system, clients: clients, partitions: partitions, writesEach: writesEach, window: window),
                try Uploaders(
                    system, devices: clients, partitions: partitions, writesEach: writesEach, window: window)
            )
        }
        defer {
            realm.close()
            native.close()
        }
        return try await bench.compare {
            try await Blocking.run { try realm.writesPerSecond() }
        } reference: {
            try await Blocking.run { try native.writesPerSecond() }
        }
    }
}

/// The clients.
// Unchecked: used by one thread at a time.
private final class RealmUploaders: @unchecked Sendable {
    private var clients: [BenchmarkRealmClient]
    private let partitions: [Partition]
    private let run = UUID().uuidString
    private let writesEach: Int
    private let window: Int
    private var version: Int64 = 0

    init(_ system: RunningSystem, clients count: Int, partitions shared: Int, writesEach: Int, window: Int) throws {
        self.writesEach = writesEach
        self.window = window
        let run = run
        partitions = (0..<count).compactMap { Partition(value: .string("realm-uploads-\($0 % shared)-\(run)")) }
        clients = try partitions.map { try system.openRealm($0) }
    }

    func writesPerSecond() throws -> Double {
        let changes = try RealmChanges()
        let changesets = try partitions.enumerated().map { place, partition in
            try (version + 1...version + Int64(writesEach)).map { version in
                let note = Note(id: "realm-\(place)-\(version)-\(run)", partition: partition, number: version)
                return try changes.insert([note.document], into: Note.collection)
            }
        }
        version += Int64(writesEach)
        return Double(clients.count * writesEach) / (try clients.upload(changesets, window: window))
    }

    func close() { for client in clients { client.socket.close() } }
}
