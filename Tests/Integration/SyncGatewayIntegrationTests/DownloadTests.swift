import ChangeStream
import DocumentModel
import DocumentStore
import EventTopics
import SyncEngine
import SyncProtocol
import TestSupport
import Testing

@Suite struct DownloadTests {
    private func message(_ number: Int, in partition: Partition) -> Document {
        [
            "_id": .string("\(partition.text)/\(number)"), "partition": .string(String(partition.text.dropFirst(2))),
            "author": "bob", "text": .string("message \(number)"), "timestamp": .date(Int64(number)),
        ]
    }

    @Test func `a catch-up and the live frames after it have no gap and no duplicate while others write`() async throws
    {
        let fixture = try await GatewayFixture.shared()
        let partition = fixture.partition()
        try await fixture.grant(.read, to: "ann", in: partition)
        let messages = fixture.store.collection("ChatMessage", database: "RChat", app: GatewayFixture.app)
        let count = 60
        let writer = Task {
            for number in 1...count { _ = try await messages.insertOne(message(number, in: partition)) }
        }
        try await eventually("some messages") {
            try await messages.countDocuments(["partition": .string(String(partition.text.dropFirst(2)))]) > 5
        }
        let device = try await fixture.device("ann")
        let (subscribed, chunks) = try await device.open(partition)
        #expect(subscribed.access == .read)
        var seen: [Int64] = []
        var position = Revision(epoch: 1, number: 0)
        var left = chunks
        while position.number < count {
            let download = left.isEmpty ? try await device.download() : left.removeFirst()
            #expect(download.from <= position)
            for change in download.changes where change.revision > position { seen.append(change.revision.number) }
            #expect(download.changes.allSatisfy { $0.revision > download.from && $0.revision <= download.to })
            position = download.to
        }
        try await writer.value
        #expect(seen == Array(1...Int64(count)))

        let again = try await fixture.device("ann")
        let (_, rest) = try await again.open(partition, checkpoint: Revision(epoch: 1, number: 50))
        #expect(rest.flatMap(\.changes).map(\.revision.number) == Array(51...60))
    }

    @Test func `a device that reads compact downloads gets what others get`() async throws {
        let fixture = try await GatewayFixture.shared()
        let partition = fixture.partition()
        for user in ["ann", "bob", "eve"] { try await fixture.grant(.write, to: user, in: partition) }
        let messages = fixture.store.collection("ChatMessage", database: "RChat", app: GatewayFixture.app)
        func id(_ number: Int) -> Value { .string("\(partition.text)/\(number)") }
        _ = try await messages.insertMany((1...5).map { message($0, in: partition) })
        _ = try await messages.deleteOne(["_id": id(2)])
        let whole = try await fixture.device("ann")
        let compact = try await fixture.device("bob", readsCompact: true)
        let writer = try await fixture.device("eve")
        func same(_ whole: [Download], _ compact: [Download]) {
            func text(_ downloads: [Download]) -> [String] {
                downloads.flatMap(\.changes).map { "\($0)" }
            }
            #expect(text(whole) == text(compact))
        }
        same(try await whole.open(partition).chunks, try await compact.open(partition).chunks)
        _ = try await writer.open(partition)
        try await writer.upload(1, insert: "\(partition.text)/new", into: partition)
        _ = try await messages.updateOne(["_id": id(3)], ["$set": ["text": "changed"]])
        _ = try await messages.deleteOne(["_id": id(4)])
        var live: (whole: [Download], compact: [Download]) = ([], [])
        while live.whole.flatMap(\.changes).count < 3 { live.whole.append(try await whole.download()) }
        while live.compact.flatMap(\.changes).count < 3 { live.compact.append(try await compact.download()) }
        same(live.whole, live.compact)
    }

    private func table(_ fixture: GatewayFixture) async throws -> String {
        let tables = try await fixture.postgres.query(
            "select relation::text from partita.collections where app = $1 and name = 'ChatMessage'",
            [.text(GatewayFixture.app)])
        return try #require(tables.first).decode(0)
    }

    @Test func `a transaction that the relay publishes in parts comes to devices as a whole`() async throws {
        let fixture = try await GatewayFixture.shared()
        let partition = fixture.partition()
        try await fixture.grant(.read, to: "ann", in: partition)
        let messages = fixture.store.collection("ChatMessage", database: "RChat", app: GatewayFixture.app)
        _ = try await messages.insertMany((1...600).map { message($0, in: partition) })
        let device = try await fixture.device("ann")
        let (subscribed, _) = try await device.open(partition)
        var position = subscribed.head
        #expect(position.number == 600)
        for round in 1...3 {
            try await fixture.postgres.execute(
                "update \(try await table(fixture)) set document = document || jsonb_build_object('text', $1::text) where partition = $2",
                [.text("round \(round)"), .text(partition.text)])
            // On a slow machine the device catches up instead, which ends with the whole state, too.
            var downloads = [try await device.download()]
            while downloads.last?.catchUp?.isFinal == false { downloads.append(try await device.download()) }
            #expect(downloads.first?.from == position)
            #expect(downloads.map(\.changes.count).reduce(0, +) == 600)
            position = try #require(downloads.last?.to)
            #expect(position.number == 600 * Int64(round + 1))
        }
    }

    @Test func `a change of which the topic says nothing comes without another write`() async throws {
        let fixture = try await GatewayFixture.shared()
        let partition = fixture.partition()
        try await fixture.grant(.read, to: "ann", in: partition)
        let messages = fixture.store.collection("ChatMessage", database: "RChat", app: GatewayFixture.app)
        _ = try await messages.insertOne(message(1, in: partition))
        let device = try await fixture.device("ann")
        _ = try await device.open(partition)
        let table = try await table(fixture)
        // Without its change row the relay sends neither it nor the head after it.
        try await fixture.postgres.withTransaction { transaction in
            try await transaction.execute(
                "update \(table) set document = document || '{\"text\": \"lost\"}' where partition = $1",
                [.text(partition.text)])
            try await transaction.execute("set constraints all immediate")
            try await transaction.execute(
                "delete from partita.changes where app = $1 and partition = $2 and revision = 2",
                [.text(GatewayFixture.app), .text(partition.text)])
        }
        // It is found five to ten seconds after its commit.
        let download = try await device.download(within: .seconds(30))
        #expect(download.changes.map { $0.document?["text"]?.stringValue } == ["lost"])
        #expect(download.to.number == 2)
    }

    @Test func `a device that is older than the tombstones is served from the start`() async throws {
        let fixture = try await GatewayFixture.shared()
        let partition = fixture.partition()
        try await fixture.grant(.write, to: "ann", in: partition)
        let messages = fixture.store.collection("ChatMessage", database: "RChat", app: GatewayFixture.app)
        for number in 1...2 { _ = try await messages.insertOne(message(number, in: partition)) }
        _ = try await messages.deleteOne(["_id": .string("\(partition.text)/1")])
        try await fixture.postgres.execute(
            "update partita.tombstones set deleted_at = now() - interval '1 year' where partition = $1",
            [.text(partition.text)])
        try await HistoryRetention(client: fixture.postgres).sweep()

        let later = try await fixture.device("ann")
        let (_, chunks) = try await later.open(partition, checkpoint: Revision(epoch: 1, number: 2))
        #expect(chunks.first?.from.number == 0)
        #expect(chunks.flatMap(\.changes).map(\.key?.idText) == ["s:\(partition.text)/2"])
        // One that has seen the deletion goes on from there.
        let current = try await fixture.device("ann")
        let (_, rest) = try await current.open(partition, checkpoint: Revision(epoch: 1, number: 3))
        #expect(rest.flatMap(\.changes).isEmpty)
        #expect(rest.first?.from == Revision(epoch: 1, number: 3))
    }

    /// - Parameter noise: Whether the text can't be compressed.
    private func large(_ number: Int, in partition: Partition, bytes: Int, noise: Bool = false) -> Document {
        var document = message(number, in: partition)
        var generator = SeededGenerator(seed: UInt64(number))
        let letters = Array("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-".utf8)
        let text = noise ? (0..<bytes).map { _ in letters[Int.random(in: 0..<64, using: &generator)] } : nil
        document["text"] = .string(
            text.map { String(decoding: $0, as: UTF8.self) } ?? String(repeating: "a", count: bytes))
        return document
    }

    @Test func `the largest document comes alone, and keeps nobody from the partition`() async throws {
        let fixture = try await GatewayFixture.shared()
        let partition = fixture.partition()
        try await fixture.grant(.read, to: "ann", in: partition)
        let messages = fixture.store.collection("ChatMessage", database: "RChat", app: GatewayFixture.app)
        _ = try await messages.insertOne(large(1, in: partition, bytes: 1_000_000))
        _ = try await messages.insertOne(large(2, in: partition, bytes: (16 << 20) - 1000))
        _ = try await messages.insertOne(message(3, in: partition))
        let device = try await fixture.device("ann")
        let (_, chunks) = try await device.open(partition)
        #expect(chunks.map(\.changes.count) == [1, 1, 1])
        let sizes = chunks.flatMap(\.changes).map { $0.document?["text"]?.stringValue?.utf8.count }
        #expect(sizes == [1_000_000, (16 << 20) - 1000, 9])
    }

    @Test func `many partitions that are opened at once don't fill the socket's queue`() async throws {
        let fixture = try await GatewayFixture.shared()
        let messages = fixture.store.collection("ChatMessage", database: "RChat", app: GatewayFixture.app)
        let partitions = (0..<90).map { _ in fixture.partition() }
        for (number, partition) in partitions.enumerated() {
            try await fixture.grant(.read, to: "ann", in: partition)
            _ = try await messages.insertOne(large(number, in: partition, bytes: 1_000_000, noise: true))
        }
        let device = try await fixture.device("ann")
        device.fallSilent()
        for partition in partitions {
            try await device.send(.subscribe(partition: partition, checkpoint: EpochHistory.beginning))
        }
        try await Task.sleep(for: .seconds(1))
        device.recover()
        var open: Set<Partition> = []
        while open.count < partitions.count {
            if case .download(let partition, let download) = try await device.next(),
                download.catchUp?.isFinal == true
            {
                open.insert(partition)
            }
        }
    }

    @Test func `a partition that is opened a second time begins anew, and each change comes once`() async throws {
        let fixture = try await GatewayFixture.shared()
        let partition = fixture.partition()
        try await fixture.grant(.write, to: "ann", in: partition)
        let ann = try await fixture.device("ann")
        _ = try await ann.open(partition)
        try await ann.upload(1, insert: "a-\(partition.text)", into: partition)
        guard case .ack = try await ann.answer() else { throw Device.Unexpected(what: "no ack") }
        // More often than a device may have partitions open.
        for _ in 0..<1000 {
            try await ann.send(.subscribe(partition: partition, checkpoint: Revision(epoch: 1, number: 0)))
        }
        try await ann.send(.unsubscribe(partition: partition))
        try await ann.send(.ping)
        while true {
            if case .pong = try await ann.next() { break }
        }
        let (subscribed, chunks) = try await ann.open(partition)
        #expect(subscribed.lastVersion == 1)
        #expect(chunks.map(\.changes.count) == [1])
        try await ann.upload(2, insert: "b-\(partition.text)", into: partition)
        var live = 0
        for _ in 0..<2 {
            switch try await ann.next() {
            case .ack: break
            // When the topic is late, the first change comes with the second, as a frame isn't cut: devices have it.
            case .download(_, let download): live += download.changes.count { $0.revision.number > 1 }
            case let frame: throw Device.Unexpected(what: "\(frame)")
            }
        }
        #expect(live == 1)
        try await ann.send(.ping)
        guard case .pong = try await ann.next() else { throw Device.Unexpected(what: "a second frame") }
    }

    @Test func `a revocation sends revoked, and nothing after it`() async throws {
        let fixture = try await GatewayFixture.shared()
        let partition = fixture.partition()
        try await fixture.grant(.write, to: "ann", in: partition)
        try await fixture.grant(.write, to: "bob", in: partition)
        let ann = try await fixture.device("ann")
        let bob = try await fixture.device("bob")
        _ = try await ann.open(partition)
        _ = try await bob.open(partition)
        try await fixture.grant(.none, to: "ann", in: partition, version: 2)
        guard case .revoked(let revoked, _) = try await ann.next() else {
            Issue.record("not revoked")
            return
        }
        #expect(revoked == partition)
        try await bob.upload(1, insert: "after-\(partition.text)", into: partition)
        guard case .ack = try await bob.answer() else {
            Issue.record("not acknowledged")
            return
        }
        // The pong comes after whatever would have been sent to her.
        _ = try await bob.download()
        try await ann.send(.ping)
        guard case .pong = try await ann.next() else {
            Issue.record("something came after the revocation")
            return
        }
        try await ann.upload(1, insert: "late", into: partition)
        #expect(try await ann.error().code == .notSubscribed)
    }

    @Test func `an upgraded grant is told, an older one is not`() async throws {
        let fixture = try await GatewayFixture.shared()
        let partition = fixture.partition()
        try await fixture.grant(.read, to: "ann", in: partition, version: 2)
        let ann = try await fixture.device("ann")
        _ = try await ann.open(partition)
        try await fixture.events.send(
            GrantsEvent.grant(
                Grant(
                    app: GatewayFixture.app, user: "ann", partition: partition, access: .none,
                    version: Revision(epoch: 1, number: 1), reason: "old", time: 0)))
        try await fixture.grant(.write, to: "ann", in: partition, version: 3)
        guard case .access(partition, .write) = try await ann.next() else {
            Issue.record("not told")
            return
        }
    }
}
