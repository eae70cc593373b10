import BenchmarkRunner
import DocumentModel
import Foundation
import SyncEngine
import SyncProtocol

/// Changes of one partition delivered per second to 1,000 clients of the Realm protocol, while another one uploads them in transactions of
/// 20 objects: from the first upload to the last client's last change. Against a device that uploads the same to as many devices.
let realmFanOut = fanOut("realm.fan-out", audience: 1_000, transactions: 40)

/// The same with ten clients.
let realmSmallFanOut = fanOut("realm.fan-out.ten", audience: 10, transactions: 40)

private func fanOut(_ name: String, audience: Int, transactions: Int) -> Benchmark {
    Benchmark(Figure(name, .perSecond, goal: .ratio(atLeast: 0.7))) { bench in
        let system = try await RunningSystem.shared(on: bench.machine)
        let (realm, native) = try await Blocking.run {
            (
                try RealmConversation(system, audience: audience, transactions: transactions),
                try DeviceConversation(system, audience: audience, transactions: transactions)
            )
        }
        defer {
            realm.close()
            native.close()
        }
        return try await bench.compare {
            try await Blocking.run { try realm.deliveriesPerSecond() }
        } reference: {
            try await native.deliveriesPerSecond()
        }
    }
}

/// What a writer inserts in one transaction.
private let notesEach = 20

private func notes(_ ids: String, _ transaction: Int, in partition: Partition) -> [Note] {
    (0..<notesEach).map {
        // Ends with a letter, so that none is the beginning of another.
        Note(id: "\(ids)-\(transaction)-\($0)-x", partition: partition, number: Int64($0))
    }
}

/// A writer and its audience, clients of the Realm protocol.
// Unchecked: used by one thread at a time.
private final class RealmConversation: @unchecked Sendable {
    /// The writer first.
    private var clients: [BenchmarkRealmClient]
    private let partition: Partition
    private let transactions: Int

    init(_ system: RunningSystem, audience: Int, transactions: Int) throws {
        partition = Partition(text: "s:realm-fan-out-\(UUID().uuidString)")
        self.transactions = transactions
        let partition = partition
        clients = try (0...audience).map { _ in try system.openRealm(partition) }
    }

    func deliveriesPerSecond() throws -> Double {
        let ids = UUID().uuidString
        let changes = try RealmChanges()
        let changesets = try (0..<transactions).map { transaction in
            try changes.insert(
                notes(ids, transaction, in: partition).map(\.document), into: Note.collection)
        }
        let audience = clients.count - 1
        // Each changeset is a version, and nobody else writes.
        let end = (clients.map(\.serverVersion).max() ?? 0) + UInt64(transactions)
        let seconds = try clients.upload(
            [changesets] + Array(repeating: [], count: audience), window: DevicePartition.uploadWindow, until: end)
        return Double(transactions * notesEach * audience) / seconds
    }

    func close() { for client in clients { client.socket.close() } }
}

/// A writer and its audience, devices.
// Unchecked: used by one thread at a time.
private final class DeviceConversation: @unchecked Sendable {
    private let writer: BenchmarkDevice
    private let listeners: [BenchmarkDevice]
    private let partition: Partition
    private let transactions: Int
    private var version: Int64 = 0

    init(_ system: RunningSystem, audience: Int, transactions: Int) throws {
        let partition = Partition(text: "s:fan-out-by-device-\(UUID().uuidString)")
        func device() throws -> BenchmarkDevice {
            let device = try system.connect(UUID().uuidString)
            try device.open(partition)
            return device
        }
        writer = try device()
        listeners = try (0..<audience).map { _ in try device() }
        self.partition = partition
        self.transactions = transactions
    }

    func deliveriesPerSecond() async throws -> Double {
        try await Blocking.run { [listeners] in
            // Whoever is silent for too long is disconnected.
            for device in listeners {
                try device.send(.ping)
                try device.wait(for: "pong") { if case .pong = $0 { true } else { false } }
            }
        }
        let ids = UUID().uuidString
        let frames = (0..<transactions).map { transaction in
            version += 1
            return DeviceFrame.upload(
                notes(ids, transaction, in: partition).map(\.insert), to: partition, version: version
            ).encoded()
        }
        let last = notes(ids, transactions - 1, in: partition)[notesEach - 1].id
        let seconds = try await Stopwatch.seconds {
            async let writing = Blocking.run { [writer] in
                try [writer].upload([frames], window: DevicePartition.uploadWindow)
            }
            _ = try await Audience.receive(from: listeners.map(\.socket.descriptor), upTo: last)
            _ = try await writing
        }
        return Double(transactions * notesEach * listeners.count) / seconds
    }

    func close() { for device in [writer] + listeners { device.socket.close() } }
}
