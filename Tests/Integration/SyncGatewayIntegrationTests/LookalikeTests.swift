import DocumentModel
import DocumentStore
import EventTopics
import SyncEngine
import SyncProtocol
import TestSupport
import Testing

/// Partitions, users and devices whose names are equal by Unicode, but differ in their bytes.
@Suite struct LookalikeTests {
    private static let composed = "caf\u{e9}", decomposed = "cafe\u{301}"

    private struct Pair {
        let first: Partition, second: Partition

        init(_ first: String, _ second: String) {
            let id = ObjectId().hexString
            self.first = Partition(text: "s:team=\(id)\(first)")
            self.second = Partition(text: "s:team=\(id)\(second)")
        }
    }

    /// Expects nothing but live frames of the device's own partition, which may arrive at any time.
    private func silence(_ device: Device, _ what: Comment, own: Partition) async throws {
        try await device.send(.ping)
        let frame = try await next(device, own: own)
        guard case .pong = frame else {
            Issue.record("\(what): \(frame)")
            return
        }
    }

    private func next(_ device: Device, own: Partition) async throws -> GatewayFrame {
        while true {
            let frame = try await device.next()
            if case .download(let partition, _) = frame, bytes(partition) == bytes(own) { continue }
            return frame
        }
    }

    /// The device opens a partition; permissions is asked and denies, and the device gets the refusal for that partition.
    private func refused(
        _ device: Device, _ user: String, _ partition: Partition, own: Partition, _ fixture: GatewayFixture
    ) async throws {
        let asked = try await fixture.received(PermissionRequest.self)
        try await device.send(.subscribe(partition: partition, checkpoint: Revision(epoch: 0, number: 0)))
        try await eventually("the question is there") {
            asked.withLock { $0.contains { $0.user.hasSameBytes(as: user) && bytes($0.partition) == bytes(partition) } }
        }
        try await fixture.deny(user, partition)
        guard case .revoked(let refused, _) = try await next(device, own: own) else {
            throw Device.Unexpected(what: "not refused")
        }
        #expect(bytes(refused) == bytes(partition))
    }

    private func bytes(_ partition: Partition) -> [UInt8] { Array(partition.text.utf8) }

    @Test(arguments: [(composed, decomposed), (decomposed, composed)])
    func `partitions that look alike share no document, no live frame and no right`(_ a: String, _ b: String)
        async throws
    {
        let fixture = try await GatewayFixture.shared()
        let pair = Pair(a, b)
        try await fixture.grant(.write, to: "ann", in: pair.first)
        try await fixture.grant(.write, to: "bob", in: pair.second)
        for partition in [pair.first, pair.second] { try await fixture.grant(.read, to: "cid", in: partition) }

        let ann = try await fixture.device("ann"), bob = try await fixture.device("bob")
        let cid = try await fixture.device("cid")
        _ = try await ann.open(pair.first)
        try await ann.upload(1, insert: "1-\(pair.first.text)", into: pair.first)
        guard case .ack = try await ann.answer() else { throw Device.Unexpected(what: "no ack") }
        #expect(try await bob.open(pair.second).chunks.flatMap(\.changes).isEmpty, "documents of the other partition")
        for (device, user, own, other) in [
            (ann, "ann", pair.first, pair.second), (bob, "bob", pair.second, pair.first),
        ] {
            try await refused(device, user, other, own: own, fixture)
        }

        // One device may have both open, and gets for each its own changes.
        let own = try await cid.open(pair.first), others = try await cid.open(pair.second)
        #expect(own.chunks.flatMap(\.changes).count == 1 && others.chunks.flatMap(\.changes).isEmpty)
        try await ann.upload(2, insert: "2-\(pair.first.text)", into: pair.first)
        guard case .ack = try await ann.answer() else { throw Device.Unexpected(what: "no ack") }
        guard case .download(let partition, let download) = try await cid.next() else {
            throw Device.Unexpected(what: "no live frame")
        }
        #expect(bytes(partition) == bytes(pair.first) && download.changes.count == 1)
        try await silence(bob, "a live frame of the other partition", own: pair.second)

        // A revocation applies to one of them.
        try await fixture.grant(.none, to: "cid", in: pair.first, version: 2, isFence: true)
        guard case .revoked(let revoked, _) = try await cid.next() else { throw Device.Unexpected(what: "not revoked") }
        #expect(bytes(revoked) == bytes(pair.first))
        try await silence(ann, "revoked too", own: pair.first)
        try await silence(bob, "revoked too", own: pair.second)
        try await bob.upload(1, insert: "1-\(pair.second.text)", into: pair.second)
        guard case .ack(let ack) = try await bob.answer() else { throw Device.Unexpected(what: "no ack") }
        #expect(bytes(ack.partition) == bytes(pair.second))
        guard case .download(let still, _) = try await cid.next() else { throw Device.Unexpected(what: "silenced") }
        #expect(bytes(still) == bytes(pair.second))
        try await silence(ann, "a live frame of the other partition", own: pair.first)
        for device in [ann, bob, cid] { device.close() }
    }

    @Test func `users whose ids look alike share no right and no presence`() async throws {
        let fixture = try await GatewayFixture.shared()
        let id = ObjectId().hexString
        let first = id + Self.composed, second = id + Self.decomposed
        let partition = fixture.partition()
        try await fixture.grant(.write, to: first, in: partition)
        try await fixture.grant(.read, to: "ann", in: partition)
        let watcher = try await fixture.device("ann")
        try await watcher.send(.presence(.init(state: "online", watch: [first])))
        try await silence(watcher, "before anybody came", own: partition)

        let stranger = try await fixture.device(second)
        try await refused(stranger, second, partition, own: Partition(text: "s:none"), fixture)
        let device = try await fixture.device(first)
        _ = try await device.open(partition)
        guard case .presence(let report) = try await watcher.next() else {
            throw Device.Unexpected(what: "no presence")
        }
        #expect(report.user.hasSameBytes(as: first) && report.state == "online")

        // The stranger's token is another user's.
        try await device.send(.token(accessToken: fixture.token(second)))
        #expect(try await device.error().code == .userChanged)
        for device in [watcher, stranger, device] { device.close() }
    }

    @Test func `devices whose ids look alike count their changesets by themselves`() async throws {
        let fixture = try await GatewayFixture.shared()
        let partition = fixture.partition()
        try await fixture.grant(.write, to: "ann", in: partition)
        let id = ObjectId().hexString
        for name in [id + Self.composed, id + Self.decomposed] {
            let device = try await fixture.device("ann", id: name)
            _ = try await device.open(partition)
            try await device.upload(1, insert: "\(name)-\(partition.text)", into: partition)
            guard case .ack(let ack) = try await device.answer() else { throw Device.Unexpected(what: "no ack") }
            #expect(ack.version == 1)
            device.close()
        }
        let messages = fixture.store.collection("ChatMessage", database: "RChat", app: GatewayFixture.app)
        #expect(try await messages.countDocuments(["partition": .string(String(partition.text.dropFirst(2)))]) == 2)
    }
}
