import DocumentModel
import SyncEngine
import Testing

struct DevicePartitionTests {
    private let key = DocumentKey(collection: "c", idText: "s:d")

    private func revision(_ number: Int64, epoch: Int32 = 1) -> Revision { Revision(epoch: epoch, number: number) }

    private func increment() -> Operation {
        Operation(collection: "c", id: "d", kind: .update(operators: ["$inc": ["n": 1]], arrayFilters: []))
    }

    private func change(_ number: Int64, version: Int64? = nil, device: String = "me") -> DocumentChange {
        DocumentChange(
            collection: "c", id: "d", revision: revision(number), incarnation: revision(1),
            document: ["_id": "d", "n": .int64(number)],
            origin: version.map { DocumentChange.Origin(device: device, version: $0) })
    }

    private func live(_ from: Int64, _ changes: DocumentChange...) -> Download {
        Download(from: revision(from), to: changes.last?.revision ?? revision(from), changes: changes)
    }

    private func chunk(_ from: Revision, _ to: Revision, final: Bool, last: Int64 = 0, _ changes: DocumentChange...)
        -> Download
    {
        Download(
            from: from, to: to, changes: changes,
            catchUp: .init(isFinal: final, lastVersion: last, progress: CatchUpProgress(done: 1, total: 1)))
    }

    /// A partition at revision 10 with some changesets uploaded.
    private func uploaded(_ count: Int) throws -> DevicePartition {
        var partition = DevicePartition(checkpoint: revision(10), access: .write)
        _ = partition.subscribed(access: .write, lastVersion: 0, retained: [])
        for number in 0..<count {
            _ = partition.write([increment()], clock: HybridTime(milliseconds: Int64(number)))
        }
        #expect(partition.takeUploads(window: 100).count == count)
        return partition
    }

    private func retained(_ effects: [DevicePartition.Effect]) -> [Int64] {
        effects.compactMap { if case .retain(let changeset) = $0 { changeset.version } else { nil } }
    }

    @Test func `an acknowledged changeset stays on top until the checkpoint reaches it`() throws {
        var partition = try uploaded(1)
        let acknowledged = partition.acknowledge(version: 1, revision: revision(12), lost: [])
        #expect(retained(acknowledged).isEmpty)
        #expect(partition.overlay(key).count == 1)
        #expect(retained(try partition.receive(live(10, change(11)), device: "me")).isEmpty)
        #expect(partition.overlay(key).count == 1)
        #expect(retained(try partition.receive(live(11, change(12)), device: "me")) == [1])
        #expect(partition.overlay(key).isEmpty)
    }

    @Test func `a live change of its own takes a changeset off the top before the acknowledgement`() throws {
        var partition = try uploaded(2)
        _ = try partition.receive(live(10, change(11, version: 1)), device: "me")
        #expect(partition.overlay(key).count == 1)
        #expect(partition.pending.count == 2)  // the answer is still due
        #expect(retained(partition.acknowledge(version: 1, revision: revision(11), lost: [])) == [1])
        #expect(partition.pending.map(\.changeset.version) == [2])
    }

    @Test func `another device's changes take nothing off`() throws {
        var partition = try uploaded(1)
        _ = try partition.receive(live(10, change(11, version: 1, device: "other")), device: "me")
        #expect(partition.overlay(key).count == 1)
    }

    @Test func `a chunk's last version takes changesets off when it becomes visible, not before`() throws {
        var partition = try uploaded(1)
        _ = try partition.receive(chunk(revision(10), revision(11), final: false, last: 1, change(11)), device: "me")
        #expect(partition.overlay(key).count == 1)
        #expect(partition.checkpoint == revision(10))
        #expect(partition.received == revision(11))
        _ = try partition.receive(chunk(revision(11), revision(12), final: true, last: 1), device: "me")
        #expect(partition.overlay(key).isEmpty)
        #expect(partition.checkpoint == revision(12))
    }

    @Test func `a gap is noticed and changes nothing`() throws {
        var partition = try uploaded(1)
        #expect(throws: DevicePartition.Fault.gap) { try partition.receive(live(11, change(12)), device: "me") }
        #expect(throws: DevicePartition.Fault.gap) {
            try partition.receive(chunk(revision(11), revision(12), final: true), device: "me")
        }
        #expect(partition.checkpoint == revision(10))
        #expect(partition.received == revision(10))
    }

    @Test func `a change that was received is ignored when it is repeated`() throws {
        var partition = try uploaded(0)
        _ = try partition.receive(live(10, change(11), change(12)), device: "me")
        #expect(try partition.receive(live(10, change(11), change(12)), device: "me").isEmpty)
        guard case .apply(let changes)? = try partition.receive(live(11, change(12), change(13)), device: "me").first
        else { return #expect(Bool(false)) }
        #expect(changes.map(\.revision) == [revision(13)])
    }

    @Test func `a lost answer is asked for again with the same version`() throws {
        var partition = try uploaded(2)
        _ = try partition.receive(live(10, change(11, version: 1)), device: "me")
        partition.disconnected()
        #expect(partition.takeUploads(window: 100).isEmpty)
        _ = partition.subscribed(access: .write, lastVersion: 1, retained: [])
        #expect(partition.takeUploads(window: 100).map(\.version) == [1])
    }

    @Test func `a rejection takes one changeset away and no other`() throws {
        var partition = try uploaded(3)
        let rejection = OperationRejection(code: .schemaViolation, reason: "no")
        guard case .reject(let changeset, _)? = partition.reject(version: 2, rejection).first else {
            return #expect(Bool(false))
        }
        #expect(changeset.version == 2)
        #expect(partition.pending.map(\.changeset.version) == [1, 3])
        #expect(partition.reject(version: 2, rejection).isEmpty)
    }

    @Test func `the window bounds the unanswered changesets`() throws {
        var partition = try uploaded(0)
        for number in 0..<5 { _ = partition.write([increment()], clock: HybridTime(milliseconds: Int64(number))) }
        #expect(partition.takeUploads(window: 2).map(\.version) == [1, 2])
        #expect(partition.takeUploads(window: 2).isEmpty)
        _ = partition.acknowledge(version: 1, revision: revision(11), lost: [])
        #expect(partition.takeUploads(window: 2).map(\.version) == [3])
    }

    @Test func `after a restore lost changesets are offered again, and show once`() throws {
        var partition = try uploaded(2)
        _ = partition.acknowledge(version: 1, revision: revision(11), lost: [])
        _ = try partition.receive(live(10, change(11, version: 1), change(12, version: 2)), device: "me")
        partition.disconnected()
        // The backup has neither; version 1 was kept for this, version 2 is unanswered.
        let kept = Changeset(version: 1, clock: HybridTime(milliseconds: 1), operations: [increment()])
        _ = partition.subscribed(access: .write, lastVersion: 0, retained: [kept])
        #expect(partition.takeUploads(window: 100).map(\.version) == [1, 2])
        #expect(partition.overlay(key).isEmpty)  // what is shown has both
        _ = try partition.receive(chunk(revision(0, epoch: 2), revision(10, epoch: 2), final: true), device: "me")
        #expect(partition.overlay(key).count == 2)  // and now has neither
        _ = partition.acknowledge(version: 1, revision: revision(11, epoch: 2), lost: [])
        #expect(partition.overlay(key).count == 2)
    }

    @Test func `a server that knows versions that the device doesn't means a clone`() throws {
        var partition = try uploaded(2)
        partition.disconnected()
        _ = partition.subscribed(access: .write, lastVersion: 3, retained: [])
        #expect(partition.isForked && !partition.isReadyToFork)
        // Changesets that the server may have are queried before there is a new id.
        #expect(partition.takeUploads(window: 100).map(\.version) == [1, 2])
        _ = partition.acknowledge(version: 1, revision: revision(12), lost: [])
        #expect(!partition.isReadyToFork)
        partition.foreign(version: 2)
        #expect(partition.isReadyToFork)
        _ = partition.fork()
        _ = partition.write([increment()], clock: HybridTime(milliseconds: 3))
        _ = partition.subscribed(access: .write, lastVersion: 0, retained: [])
        // The acknowledged one stays on top, and takes no version of the new id.
        #expect(partition.overlay(key).count == 3)
        #expect(partition.takeUploads(window: 100).map(\.version) == [1, 2])
    }

    @Test func `after a fork all changesets are queried, since an earlier connection may have sent them`() throws {
        var partition = try uploaded(2)
        partition.disconnected()
        _ = partition.write([increment()], clock: HybridTime(milliseconds: 9))
        _ = partition.subscribed(access: .write, lastVersion: 1, retained: [])
        #expect(partition.takeUploads(window: 100).map(\.version) == [1])
        partition.foreign(version: 1)
        #expect(!partition.isReadyToFork)
        #expect(partition.takeUploads(window: 100).map(\.version) == [2, 3])
        _ = partition.acknowledge(version: 2, revision: revision(12), lost: [])
        partition.foreign(version: 3)
        #expect(partition.isReadyToFork)
        _ = partition.fork()
        _ = partition.subscribed(access: .write, lastVersion: 0, retained: [])
        #expect(partition.takeUploads(window: 100).count == 2, "the acknowledged one isn't offered again")
    }

    @Test func `nothing new is uploaded before what the server may have is settled`() throws {
        var partition = try uploaded(3)
        partition.disconnected()
        _ = partition.write([increment()], clock: HybridTime(milliseconds: 9))
        _ = partition.subscribed(access: .write, lastVersion: 2, retained: [])
        #expect(partition.takeUploads(window: 100).map(\.version) == [1, 2])
        _ = partition.acknowledge(version: 1, revision: revision(11), lost: [])
        #expect(partition.takeUploads(window: 100).isEmpty)
        _ = partition.acknowledge(version: 2, revision: revision(12), lost: [])
        #expect(partition.takeUploads(window: 100).map(\.version) == [3, 4])
        partition.foreign(version: 3)
        #expect(!partition.isReadyToFork)  // 4 may be there
        partition.foreign(version: 4)
        #expect(partition.isReadyToFork)
    }

    @Test func `no more changesets are unanswered than the server can distinguish`() throws {
        var partition = try uploaded(0)
        for number in 0..<40 { _ = partition.write([increment()], clock: HybridTime(milliseconds: Int64(number))) }
        #expect(partition.takeUploads(window: 100).count == DevicePartition.uploadWindow)
    }

    @Test func `changesets that the server lost for good leave no gap in the versions`() throws {
        // Of 1 to 5, 2 was rejected, 4 too old to be kept, 5 is not acknowledged; the backup has 1.
        var partition = try uploaded(5)
        for version: Int64 in [1, 3, 4] {
            _ = partition.acknowledge(version: version, revision: revision(10 + version), lost: [])
        }
        _ = partition.reject(version: 2, OperationRejection(code: .badUpdate, reason: "no"))
        _ = try partition.receive(live(10, change(14, version: 4)), device: "me")
        partition.disconnected()
        let kept = Changeset(version: 3, clock: HybridTime(milliseconds: 3), operations: [increment()])
        _ = partition.subscribed(access: .write, lastVersion: 1, retained: [kept])
        #expect(partition.takeUploads(window: 100).map(\.version) == [2, 3])
        #expect(partition.nextVersion == 4)
    }

    @Test func `changesets that can't be sent leave no gap in the versions`() throws {
        var partition = try uploaded(1)
        for number in 2...4 { _ = partition.write([increment()], clock: HybridTime(milliseconds: Int64(number))) }
        #expect(partition.takeUploads(window: 2).map(\.version) == [2])
        _ = partition.refuse(version: 2, OperationRejection(code: .documentTooLarge, reason: "no"))
        #expect(partition.takeUploads(window: 100).map(\.version) == [2, 3])
        #expect(partition.nextVersion == 4)
    }

    @Test func `a changeset over which two connections were lost is uploaded alone`() throws {
        var partition = try uploaded(3)
        for _ in 0..<2 {
            _ = partition.takeUploads(window: 100)
            partition.connectionLost()
            partition.disconnected()
            _ = partition.subscribed(access: .write, lastVersion: 0, retained: [])
        }
        _ = partition.write([increment()], clock: HybridTime(milliseconds: 9))
        for version: Int64 in 1...3 {
            #expect(partition.takeUploads(window: 100).map(\.version) == [version])
            #expect(partition.takeUploads(window: 100).isEmpty)
            _ = partition.acknowledge(version: version, revision: revision(10 + version), lost: [])
        }
        #expect(!partition.hasSuspect)
        #expect(partition.takeUploads(window: 100).map(\.version) == [4])
    }

    @Test func `only changesets in flight count as lost, and only those that the server lacks are given up`() throws {
        var partition = try uploaded(1)
        for _ in 0..<DevicePartition.lossLimit {
            #expect(partition.refuseUndeliverable().isEmpty)
            _ = partition.takeUploads(window: 100)
            partition.connectionLost()
            partition.disconnected()
            partition.connectionLost()  // nothing was in flight
            _ = partition.subscribed(access: .write, lastVersion: 1, retained: [])
        }
        #expect(partition.refuseUndeliverable().isEmpty)  // the server has it, so it must only be queried
        partition.disconnected()
        #expect(partition.refuseUndeliverable().isEmpty)
        _ = partition.subscribed(access: .write, lastVersion: 0, retained: [])
        guard case .reject(let changeset, let reason)? = partition.refuseUndeliverable().first else {
            return #expect(Bool(false))
        }
        #expect(changeset.version == 1 && reason.code == .undeliverable)
        #expect(partition.pending.isEmpty && partition.nextVersion == 1)
    }

    @Test func `a server that misses versions twice in a row makes the device take a new id`() throws {
        var partition = try uploaded(2)
        partition.missedVersions()
        #expect(!partition.isForked)
        _ = partition.subscribed(access: .write, lastVersion: 0, retained: [])
        _ = partition.takeUploads(window: 1)
        _ = partition.acknowledge(version: 1, revision: revision(11), lost: [])
        partition.missedVersions()
        #expect(!partition.isForked)
        _ = partition.subscribed(access: .write, lastVersion: 1, retained: [])
        partition.missedVersions()
        #expect(partition.isForked && partition.isReadyToFork)
    }

    @Test func `a revocation wipes the partition and returns what was not sent`() throws {
        var partition = try uploaded(3)
        _ = partition.acknowledge(version: 1, revision: revision(11), lost: [])
        let effects = partition.revoke(OperationRejection(code: .notPermitted, reason: "gone"))
        #expect(effects.count == 3)
        #expect(partition.pending.isEmpty)
        #expect(!partition.isSynced)
        // The server never got the last one; opened again, the versions go on after what it has.
        _ = partition.subscribed(access: .write, lastVersion: 2, retained: [])
        _ = partition.write([increment()], clock: HybridTime(milliseconds: 9))
        #expect(partition.takeUploads(window: 100).map(\.version) == [3])
    }

    @Test func `operations name what the device has seen`() {
        var partition = DevicePartition(checkpoint: revision(10))
        let server = ServerDocument(document: ["_id": "d"], incarnation: revision(4), revision: revision(9))
        let seen = partition.stamped(increment(), server: server)
        #expect(seen.incarnation == revision(4))
        #expect(seen.base == revision(9))
        // Operations after the device's own insert refer to the document that the insert creates.
        let insert = Operation(collection: "c", id: "d", kind: .insert(["_id": "d"]))
        _ = partition.write([partition.stamped(insert, server: nil)], clock: HybridTime(milliseconds: 1))
        #expect(partition.stamped(increment(), server: server).incarnation == nil)
    }

    @Test func `the view applies what it can and leaves the rest to the server`() {
        let server = ServerDocument(
            document: ["_id": "d", "n": 1, "s": "text"], incarnation: revision(4), revision: revision(9))
        let bad = Operation(collection: "c", id: "d", kind: .update(operators: ["$inc": ["s": 1]], arrayFilters: []))
        var other = increment()
        other.incarnation = revision(5)
        let shown = LocalView.document(server: server, operations: [increment(), bad, other, increment()].map(made))
        #expect(shown == ["_id": "d", "n": 3, "s": "text"])
        #expect(LocalView.document(server: nil, operations: [made(increment())]) == nil)
    }

    /// An operation that a device made at this time.
    private func made(_ operation: Operation) -> (operation: Operation, clock: HybridTime) {
        (operation, HybridTime(milliseconds: 1000))
    }

    @Test func `the current time is that of the write, not of the read`() {
        let server = ServerDocument(
            document: ["_id": "d", "l": [["until": .date(999)], ["until": .date(1001)]]], incarnation: revision(4),
            revision: revision(9))
        let pull: Document = ["$pull": ["l": ["$expr": ["$lt": ["$until", "$$NOW"]]]]]
        let operation = Operation(collection: "c", id: "d", kind: .update(operators: pull, arrayFilters: []))
        #expect(
            LocalView.document(server: server, operations: [made(operation)]) == [
                "_id": "d", "l": [["until": .date(1001)]],
            ])
    }

    @Test func `the current date is the device's, on the device and on the server`() {
        var partition = DevicePartition()
        let update = Operation(
            collection: "c", id: "d",
            kind: .update(operators: ["$currentDate": ["at": true], "$set": ["a": 1]], arrayFilters: []))
        _ = partition.write([update], clock: HybridTime(milliseconds: 1234))
        guard case .update(let operators, _)? = partition.pending.first?.changeset.operations.first?.kind else {
            return #expect(Bool(false))
        }
        #expect(operators == ["$set": ["a": 1, "at": .date(1234)]])
    }

    @Test func `a changeset's digest depends on all of its contents`() {
        let base = Changeset(version: 1, clock: HybridTime(milliseconds: 1), operations: [increment()])
        var others = [base, base, base, base, base]
        others[0].clock = HybridTime(milliseconds: 1, counter: 1)
        others[1].operations[0].base = revision(1)
        others[2].operations.append(increment())
        others[3].operations[0].kind = .delete
        others[4].operations[0].incarnation = revision(1)
        #expect(Set(others.map(\.digest) + [base.digest]).count == 6)
    }

    @Test func `a changeset's digest never changes, since servers store it`() {
        let changeset = Changeset(
            version: 7, clock: HybridTime(bits: 65_536),
            operations: [
                Operation(
                    collection: "c\u{e9}", id: "d",
                    kind: .update(operators: ["$inc": ["n": .int64(1)]], arrayFilters: [["x.a": 1]]),
                    incarnation: Revision(epoch: 1, number: 2), base: Revision(epoch: 1, number: 3))
            ])
        // FNV-1a of: 65536 NUL "cé""d" 1.2 NUL 1.3 NUL u {"$inc":{"n":{"$numberLong":"1"}}} [{"x.a":{"$numberInt":"1"}}],
        // without the spaces, computed elsewhere.
        #expect(changeset.digest == 0x96BC56CDAB7A3A85)
    }
}
