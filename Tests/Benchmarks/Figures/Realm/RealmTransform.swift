import BenchmarkRunner
import DocumentModel
import Foundation
import SyncEngine
import SyncProtocol

/// Conflicting changesets merged per second: two clients of the Realm protocol write to the same ten objects, each 16 times before it has
/// got anything of the other, a value and the beginning of a list; then both have everything, and do it again. Against two devices that
/// write the same to the same documents.
let realmTransform = transform("realm.transform", clients: 2, bursts: 16)

/// The same with ten.
let realmTransformOfTen = transform("realm.transform.ten", clients: 10, bursts: 4)

private func transform(_ name: String, clients: Int, bursts: Int) -> Benchmark {
    Benchmark(Figure(name, .perSecond, goal: .ratio(atLeast: 0.7))) { bench in
        let system = try await RunningSystem.shared(on: bench.machine)
        let (realm, native) = try await Blocking.run {
            (try RealmConflicts(system, clients: clients), try DeviceConflicts(system, devices: clients))
        }
        defer {
            realm.close()
            native.close()
        }
        return try await bench.compare {
            try await Blocking.run { try realm.changesetsPerSecond(bursts: bursts) }
        } reference: {
            try await Blocking.run { try native.changesetsPerSecond(bursts: bursts) }
        }
    }
}

/// Which card a client's changesets of a burst are about, and how many tags the client has inserted there in the burst before.
private let burst = (0..<DevicePartition.uploadWindow).map { (card: $0 % 10, tags: $0 / 10) }

/// The clients of the Realm protocol.
// Unchecked: used by one thread at a time.
private final class RealmConflicts: @unchecked Sendable {
    private var clients: [BenchmarkRealmClient]
    private let partition: Partition

    init(_ system: RunningSystem, clients count: Int) throws {
        partition = Partition(text: "s:realm-conflicts-\(UUID().uuidString)")
        let partition = partition
        clients = try (0..<count).map { _ in try system.openRealm(partition) }
    }

    func changesetsPerSecond(bursts: Int) throws -> Double {
        let changes = try RealmChanges(), cards = Card.deck(in: partition)
        var tags = [Int](repeating: 0, count: cards.count), seconds = 0.0
        var head = (clients.map(\.serverVersion).max() ?? 0) + 1
        let first = try changes.insert(cards.map(\.document), into: Card.collection)
        let others = Array(repeating: [[UInt8]](), count: clients.count - 1)
        _ = try clients.upload([[first]] + others, window: 1, until: head)
        for _ in 0..<bursts {
            let own = burst.enumerated().map { number, write in
                changes.write(Int64(number), of: cards[write.card].id, tags: tags[write.card] + write.tags)
            }
            head += UInt64(own.count * clients.count)
            seconds += try clients.upload(
                Array(repeating: own, count: clients.count), window: own.count, areOffline: true, until: head)
            for write in burst { tags[write.card] += clients.count }
        }
        return Double(bursts * burst.count * clients.count) / seconds
    }

    func close() { for client in clients { client.socket.close() } }
}

/// The devices.
// Unchecked: used by one thread at a time.
private final class DeviceConflicts: @unchecked Sendable {
    private let devices: [BenchmarkDevice]
    private let partition: Partition
    /// Of each device.
    private var versions: [Int64]

    init(_ system: RunningSystem, devices count: Int) throws {
        let partition = Partition(text: "s:conflicts-\(UUID().uuidString)")
        devices = try (0..<count).map { _ in
            let device = try system.connect(UUID().uuidString)
            try device.open(partition)
            return device
        }
        self.partition = partition
        versions = Array(repeating: 0, count: count)
    }

    func changesetsPerSecond(bursts: Int) throws -> Double {
        let cards = Card.deck(in: partition)
        var head = try insert(cards), seconds = 0.0
        let incarnations = cards.indices.map { place in
            Revision(epoch: head.epoch, number: head.number - Int64(cards.count - 1 - place))
        }
        for _ in 0..<bursts {
            let frames = versions.map { version in
                burst.enumerated().map { number, write in
                    let update = SyncEngine.Operation(
                        collection: Card.collection, id: .string(cards[write.card].id),
                        kind: .update(operators: Card.update(Int64(number)), arrayFilters: []),
                        incarnation: incarnations[write.card], base: head)
                    return DeviceFrame.upload([update], to: partition, version: version + Int64(number) + 1).encoded()
                }
            }
            for place in versions.indices { versions[place] += Int64(burst.count) }
            // Each changeset is a revision, and nobody else writes.
            head.number += Int64(burst.count * devices.count)
            seconds += try devices.upload(frames, window: burst.count, last: #""to":"\#(head)""#)
        }
        return Double(bursts * burst.count * devices.count) / seconds
    }

    /// Has the first device insert cards.
    /// - Returns: the partition's head then.
    private func insert(_ cards: [Card]) throws -> Revision {
        versions[0] += 1
        var head = Revision(epoch: 0, number: 0)
        let operations = cards.map {
            SyncEngine.Operation(collection: Card.collection, id: .string($0.id), kind: .insert($0.document))
        }
        try devices[0].send(.upload(operations, to: partition, version: versions[0]))
        try devices[0].wait(for: "ack") { frame in
            guard case .ack(let ack) = frame else { return false }
            head = ack.revision
            return true
        }
        return head
    }

    func close() { for device in devices { device.socket.close() } }
}
