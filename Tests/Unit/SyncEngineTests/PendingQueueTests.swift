import DocumentModel
import SyncEngine
import Testing

/// The queue of a device that has written for days without a connection.
struct PendingQueueTests {
    private static let documents = 40

    private static func increment(_ document: Int) -> Operation {
        Operation(
            collection: "c", id: .int32(Int32(document)),
            kind: .update(operators: ["$inc": ["n": 1]], arrayFilters: []))
    }

    /// What is stored of a changeset besides its operations.
    private struct Row: Equatable {
        var clock: HybridTime
        var state: PendingChangeset.State
        var isContained: Bool

        init(_ pending: PendingChangeset) {
            clock = pending.changeset.clock
            // Whether it was sent isn't stored.
            state = pending.isUnresolved ? .waiting : pending.state
            isContained = pending.isContained
        }
    }

    /// A device with its store, which receives no more than the differences.
    private struct Device {
        var partition = DevicePartition(checkpoint: Revision(epoch: 1, number: 1), access: .write)
        var rows: [Int64: Row] = [:]
        var random: SeededGenerator
        var time: Int64 = 0

        mutating func save(after before: DevicePartition) {
            let changes = partition.pending.changes(since: before.pending) { Row($0) == Row($1) }
            for version in changes.removed {
                #expect(rows[version] != nil)
                rows[version] = nil
            }
            for changeset in changes.saved { rows[changeset.changeset.version] = Row(changeset) }
        }

        mutating func write() {
            time += 1
            let documents = (0...Int.random(in: 0...2, using: &random)).map { _ in
                Int.random(in: 0..<PendingQueueTests.documents, using: &random)
            }
            _ = partition.write(documents.map(increment), clock: HybridTime(milliseconds: time))
        }

        /// Anything that may happen to the bookkeeping.
        mutating func step() throws {
            let sent = partition.pending.filter { $0.state == .sent }.map(\.changeset.version)
            let head = Revision(epoch: 1, number: partition.checkpoint.number + 1)
            switch Int.random(in: 0..<16, using: &random) {
            case 0..<4: write()
            case 4..<7: _ = partition.takeUploads(window: Int.random(in: 1...16, using: &random))
            case 7..<11:
                guard let version = sent.randomElement(using: &random) else { return }
                let ahead = Int64.random(in: 0...2, using: &random)
                _ = partition.acknowledge(
                    version: version, revision: Revision(epoch: 1, number: head.number + ahead), lost: [])
            case 11:
                guard let version = sent.randomElement(using: &random) else { return }
                _ = partition.reject(version: version, OperationRejection(code: .notPermitted, reason: "no"))
            case 12..<14:
                let change = DocumentChange(
                    collection: "c", id: 1, revision: head, incarnation: head, document: ["_id": 1],
                    origin: sent.first.map { .init(device: "me", version: $0) })
                let download = Download(from: partition.checkpoint, to: head, changes: [change])
                _ = try partition.receive(download, device: "me")
            case 14:
                partition.connectionLost()
                partition.disconnected()
                let known = Int64.random(in: 0..<partition.nextVersion, using: &random)
                _ = partition.subscribed(access: .write, lastVersion: known, retained: [])
            default:
                guard Int.random(in: 0..<10, using: &random) == 0, let version = sent.first else { return }
                partition.foreign(version: version)
                if partition.isReadyToFork { _ = partition.fork() }
                partition.disconnected()
                _ = partition.subscribed(access: .write, lastVersion: 0, retained: [])
            }
        }

        /// Compares the queue with its store, and with what a list of the same changesets says.
        func check() {
            let list = Array(partition.pending)
            let versions = list.map(\.changeset.version)
            #expect(versions == versions.sorted() && versions.count == Set(versions).count)
            #expect(Dictionary(list.map { ($0.changeset.version, Row($0)) }) { $1 } == rows)
            #expect(partition.pending.count == list.count && partition.pending.reversed().count == list.count)
            #expect(partition.sentCount == list.count { $0.state == .sent })
            #expect(partition.pending.unresolvedCount == list.count(where: \.isUnresolved))
            #expect(partition.hasSuspect == list.contains(where: \.isSuspect))
            #expect(partition.hasSentSuspect == list.contains { $0.isSuspect && $0.state == .sent })
            for document in 0..<PendingQueueTests.documents {
                let key = DocumentKey(collection: "c", idText: Value.int32(Int32(document)).idText ?? "")
                let clocks = list.filter { !$0.isContained }.flatMap { changeset in
                    changeset.changeset.operations.filter { $0.key == key }.map { _ in changeset.changeset.clock }
                }
                #expect(partition.overlay(key).map(\.clock) == clocks)
            }
        }
    }

    @Test(arguments: UInt64(1)...12)
    func `a long queue is what its store has, and answers as a list does`(_ seed: UInt64) throws {
        var device = Device(random: SeededGenerator(seed: seed))
        _ = device.partition.subscribed(access: .write, lastVersion: 0, retained: [])
        for number in 0..<900 {
            let before = device.partition
            if number < 300 { device.write() } else { try device.step() }
            device.save(after: before)
            if number % 20 == 0 || number > 880 { device.check() }
        }
    }

    @Test func `a step leaves most of a long queue as it was`() {
        var partition = DevicePartition(checkpoint: Revision(epoch: 1, number: 1), access: .write)
        _ = partition.subscribed(access: .write, lastVersion: 0, retained: [])
        for number in 0..<10_000 {
            _ = partition.write([Self.increment(number)], clock: HybridTime(milliseconds: Int64(number)))
        }
        func compared(_ step: (inout DevicePartition) -> Void) -> Int {
            let before = partition
            step(&partition)
            var count = 0
            _ = partition.pending.changes(since: before.pending) { _, _ in
                count += 1
                return true
            }
            return count
        }
        let revision = Revision(epoch: 1, number: 1)
        let steps = [
            compared { _ = $0.write([Self.increment(5)], clock: HybridTime(milliseconds: 1)) },
            compared { _ = $0.takeUploads(window: 16) },
            compared { _ = $0.acknowledge(version: 1, revision: revision, lost: []) },
            compared { $0.disconnected() },
            compared { _ = $0.subscribed(access: .write, lastVersion: 1, retained: []) },
        ]
        #expect(steps.allSatisfy { $0 < 100 }, "\(steps)")
        #expect(partition.pending.count == 10_000)
    }
}
