import DocumentModel
import DocumentStore
import Postgres
import SyncEngine
import TestSupport
import Testing

struct CatchUpTests {
    let partition = Partition.conversation("1")
    let start = Revision(epoch: 1, number: 0)

    @Test func `each document comes once and whole, in bounded parts, resumable after any of them`() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.grant(in: partition)
            for version in 1...25 as ClosedRange<Int64> {
                let id = "m\(version % 20)"
                _ = try await fixture.commit(
                    .of(version, [.insert(id, ["n": .int64(version)], in: partition)], in: partition))
            }
            _ = try await fixture.commit(.of(26, [.delete("m9")], in: partition))
            var seen: [String: Document?] = [:]
            var from = start
            var parts = 0
            var remaining: [Int?] = []
            while true {
                let part = try await fixture.store.catchUp(
                    app: StoreFixture.app, partition: partition, from: from, user: "ada", device: "phone",
                    counts: parts == 0, limits: .init(entries: 7))
                #expect(part.entries.count <= 7)
                #expect(part.entries.map(\.revision) == part.entries.map(\.revision).sorted())
                #expect(part.lastVersion == 26)
                #expect(part.head == Revision(epoch: 1, number: 26))
                for entry in part.entries {
                    #expect(seen[entry.idText] == nil)
                    seen[entry.idText] = .some(try entry.body.map { try ExtendedJSON.parseDocument($0) })
                }
                remaining.append(part.remaining)
                parts += 1
                from = part.to
                if part.isFinal { break }
            }
            #expect(parts == 3)
            #expect(remaining == [20, nil, nil])
            #expect(seen.count == 20)
            #expect(seen["s:m9"] == .some(nil))
            #expect(seen["s:m5"]??["n"]?.int64Value == 25)
            #expect(from == Revision(epoch: 1, number: 26))
        }
    }

    @Test func `a device that had nothing learns only of what was deleted since`() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.grant(in: partition)
            _ = try await fixture.commit(
                .of(
                    1,
                    [.insert("a", in: partition), .insert("b", in: partition), .insert("c", in: partition)],
                    in: partition))
            _ = try await fixture.commit(.of(2, [.delete("b")], in: partition))
            let (history, head) = try await fixture.store.epochHistory(of: partition, app: StoreFixture.app)
            let point = history.resumePoint(for: start, head: head)
            func read(after revision: Revision) async throws -> CatchUp {
                try await fixture.store.catchUp(
                    app: StoreFixture.app, partition: partition, from: revision, deletionsAfter: point.horizon,
                    user: "ada", device: "phone", limits: .init(entries: 1))
            }
            let first = try await read(after: point.revision)
            #expect(first.entries.map(\.idText) == ["s:a"])
            #expect(first.remaining == 2)
            // What it has got in the meantime is deleted.
            _ = try await fixture.commit(.of(3, [.delete("a")], in: partition))
            let second = try await read(after: first.to)
            #expect(second.entries.map(\.idText) == ["s:c"])
            let last = try await read(after: second.to)
            #expect(last.entries.map(\.idText) == ["s:a"])
            #expect(last.entries.first?.body == nil)
            #expect(last.isFinal)
        }
    }

    @Test func `a standing says that there is nothing to read exactly when a read finds nothing`() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.grant(in: partition)
            func compare(after revision: Revision, hasNothing: Bool, _ line: Int = #line) async throws {
                let device = CatchUp.Device(app: StoreFixture.app, partition: partition, user: "ada", device: "phone")
                let standing = try #require(try await fixture.store.standings(of: [device])[device])
                let read = try await fixture.store.catchUp(
                    app: StoreFixture.app, partition: partition, from: revision, user: "ada", device: "phone")
                #expect(read.entries.isEmpty == hasNothing, "line \(line)")
                guard let nothing = CatchUp(after: revision, standing) else {
                    #expect(!hasNothing, "line \(line)")
                    return
                }
                #expect(hasNothing, "line \(line)")
                #expect([nothing.from, nothing.to, nothing.head] == [read.from, read.to, read.head], "line \(line)")
                #expect(nothing.epoch == read.epoch && nothing.remaining == read.remaining, "line \(line)")
                #expect(nothing.lastVersion == read.lastVersion, "line \(line)")
                #expect(nothing.tombstoneHorizon == read.tombstoneHorizon, "line \(line)")
            }
            try await compare(after: EpochHistory.beginning, hasNothing: true)
            try await compare(after: start, hasNothing: true)
            let epoch = try await fixture.beginEpoch()
            try await compare(after: EpochHistory.beginning, hasNothing: true)
            _ = try await fixture.commit(.of(1, [.insert("m1", [:], in: partition)], in: partition))
            try await compare(after: EpochHistory.beginning, hasNothing: false)
            try await compare(after: start, hasNothing: false)
            try await compare(after: Revision(epoch: epoch, number: 1), hasNothing: true)
            _ = try await fixture.commit(.of(2, [.delete("m1")], in: partition))
            try await compare(after: Revision(epoch: epoch, number: 1), hasNothing: false)
            try await compare(after: EpochHistory.beginning, hasNothing: false)
            _ = try await fixture.store.serveAnew(app: StoreFixture.app, partition: partition)
            try await compare(after: EpochHistory.beginning, hasNothing: false)
        }
    }

    @Test func `a part is cut by the real bytes, however well a document compresses`() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.grant(in: partition)
            let operations = (0..<6).map { number in
                Operation.insert("m\(number)", ["text": .string(String(repeating: "a", count: 400_000))], in: partition)
            }
            _ = try await fixture.commit(.of(1, operations, in: partition))
            var counts: [Int] = []
            var from = start
            while counts.isEmpty || from.number < 6 {
                let part = try await fixture.store.catchUp(
                    app: StoreFixture.app, partition: partition, from: from, user: "ada", device: "phone")
                counts.append(part.entries.count)
                #expect(part.isFinal == (part.to.number == 6))
                from = part.to
            }
            #expect(counts == [2, 2, 2])
        }
    }

    @Test func `a part is cut by bytes, but has one document at least`() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.grant(in: partition)
            var generator = SeededGenerator(seed: 1)
            let operations = (0..<4).map { number in
                // Random, so that Postgres can't compress it.
                let noise = (0..<3000).map { _ in UInt8.random(in: 0...255, using: &generator) }
                return Operation.insert("m\(number)", ["noise": .binary(Binary(noise))], in: partition)
            }
            _ = try await fixture.commit(.of(1, operations, in: partition))
            var counts: [Int] = []
            var from = start
            while counts.last != 0 {
                let part = try await fixture.store.catchUp(
                    app: StoreFixture.app, partition: partition, from: from, user: "ada", device: "phone",
                    limits: .init(bytes: 100))
                counts.append(part.entries.count)
                from = part.to
            }
            #expect(counts == [1, 1, 1, 1, 0])
        }
    }

    @Test func `a document that moved is a tombstone here and an entry there`() async throws {
        try await StoreFixture.with { fixture in
            let other = Partition.conversation("2")
            try await fixture.grant(in: partition)
            try await fixture.grant(in: other)
            _ = try await fixture.commit(.of(1, [.insert("a", in: partition)], in: partition))
            _ = try await fixture.commit(
                .of(2, [.update("a", ["$set": ["partition": "conversation=2"]])], in: partition))
            func entries(_ partition: Partition) async throws -> [(String, Bool)] {
                try await fixture.store.catchUp(
                    app: StoreFixture.app, partition: partition, from: start, user: "ada", device: "phone"
                ).entries.map { ($0.idText, $0.body == nil) }
            }
            let here = try await entries(partition)
            let there = try await entries(other)
            #expect(here.map(\.0) == ["s:a"] && here.map(\.1) == [true])
            #expect(there.map(\.0) == ["s:a"] && there.map(\.1) == [false])
        }
    }

    @Test
    func `what left the partition with its collection is a tombstone, also when no collection is synced any more`()
        async throws
    {
        try await StoreFixture.with { fixture in
            try await fixture.grant(in: partition)
            _ = try await fixture.commit(.of(1, [.insert("a", in: partition)], in: partition))
            try await fixture.client.execute("update partita.collections set partition_key = null")
            try await fixture.client.execute("update \(fixture.table) set document = document || '{\"n\": 1}'")
            for synced in [["User"], []] {
                fixture.store.define(
                    AppStorage(
                        app: StoreFixture.app, syncDatabase: "RChat", partitionKey: "partition",
                        syncedCollections: synced))
                let part = try await fixture.store.catchUp(
                    app: StoreFixture.app, partition: partition, from: Revision(epoch: 1, number: 1), user: "ada",
                    device: "phone")
                #expect(part.entries.map(\.idText) == ["s:a"])
                #expect(part.entries.allSatisfy { $0.body == nil && $0.collection == "ChatMessage" })
            }
        }
    }

    @Test func `after a restore the numbers go on in a new epoch, and what was forgotten is known`() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.grant(in: partition)
            _ = try await fixture.commit(
                .of(1, [.insert("a", in: partition), .insert("b", in: partition)], in: partition))
            let epoch = try await fixture.beginEpoch()
            let (untouched, oldHead) = try await fixture.store.epochHistory(of: partition, app: StoreFixture.app)
            #expect(untouched == EpochHistory(current: epoch, lastKept: [1: 2]))
            #expect(oldHead == Revision(epoch: 1, number: 2))
            let result = try await fixture.commit(.of(2, [.insert("c", in: partition)], in: partition))
            #expect(result.acknowledgement?.revision == Revision(epoch: epoch, number: 3))
            let (history, head) = try await fixture.store.epochHistory(of: partition, app: StoreFixture.app)
            #expect(
                history.resumePoint(for: Revision(epoch: 1, number: 2), head: head).revision
                    == Revision(epoch: 1, number: 2))
            // A device that had seen what the restore forgot begins anew.
            #expect(
                history.resumePoint(for: Revision(epoch: 1, number: 5), head: head).revision == EpochHistory.beginning)
            let part = try await fixture.store.catchUp(
                app: StoreFixture.app, partition: partition, from: Revision(epoch: 1, number: 2), user: "ada",
                device: "phone")
            #expect(part.entries.map(\.idText) == ["s:c"])
            #expect(part.epoch == epoch)
        }
    }

    @Test func `documents follow when their collection begins to sync, and when it ends`() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.grant(in: partition)
            func define(_ synced: [String]) {
                fixture.store.define(
                    AppStorage(
                        app: StoreFixture.app, syncDatabase: "RChat", partitionKey: "partition",
                        syncedCollections: synced))
            }
            func caughtUp() async throws -> [String] {
                try await fixture.store.catchUp(
                    app: StoreFixture.app, partition: partition, from: start, user: "ada", device: "phone"
                ).entries.filter { $0.body != nil }.map { "\($0.collection) \($0.idText)" }
            }
            define(["ChatMessage"])
            let notes = fixture.store.collection("Note", database: "RChat", app: StoreFixture.app)
            let key = partition.value ?? .null
            try await notes.insertMany((0..<3).map { ["_id": .string("n\($0)"), "partition": key, "n": .int32($0)] })
            try await notes.insertOne(["_id": "none"])
            try await fixture.store.collection("ChatMessage", database: "RChat", app: StoreFixture.app)
                .insertOne(["_id": "m", "partition": key])
            #expect(try await caughtUp() == ["ChatMessage s:m"])

            define(["ChatMessage", "Note"])
            let moved = try await fixture.store.repartition(app: StoreFixture.app)
            #expect(moved.map { "\($0.namespace.collection) \($0.count)" } == ["Note 3"])
            #expect(try await fixture.store.repartition(app: StoreFixture.app).isEmpty)
            #expect(try await caughtUp() == ["ChatMessage s:m", "Note s:n0", "Note s:n1", "Note s:n2"])
            let head = try await fixture.head(of: partition)
            #expect(head == 4)
            try await fixture.client.execute(
                "update \"rchat/RChat\".\"Note\" set document = document || '{\"n\": 7}' where _id = 's:n1'")
            let update = try await notes.updateOne(["_id": "n2"], ["$set": ["n": 8]])
            #expect(update.modifiedCount == 1)
            #expect(try await caughtUp() == ["ChatMessage s:m", "Note s:n0", "Note s:n1", "Note s:n2"])
            #expect(try await fixture.head(of: partition) == head + 2)

            define(["ChatMessage"])
            #expect(try await fixture.store.repartition(app: StoreFixture.app).map(\.count) == [3])
            #expect(try await caughtUp() == ["ChatMessage s:m"])
            #expect(try await notes.countDocuments(["partition": key]) == 4 - 1)
        }
    }

    @Test(arguments: ["0.0", "1.0", "2.0", "1.5", "3.1"])
    func `who has nothing that counts gets the whole state, whatever epoch it was written in`(
        _ text: String
    ) async throws {
        let checkpoint = try #require(Revision(text))
        try await StoreFixture.with { fixture in
            try await fixture.grant(in: partition)
            _ = try await fixture.commit(
                .of(1, [.insert("a", in: partition), .insert("b", in: partition)], in: partition))
            _ = try await fixture.beginEpoch()
            _ = try await fixture.commit(.of(2, [.insert("c", in: partition)], in: partition))
            #expect(try await served(checkpoint, fixture) == ["s:a", "s:b", "s:c"])
        }
    }

    @Test func `a partition is served anew once, and its numbers go on`() async throws {
        try await StoreFixture.with { fixture in
            let other = Partition.conversation("2")
            for partition in [partition, other] { try await fixture.grant(in: partition) }
            _ = try await fixture.commit(.of(1, [.insert("a", in: partition)], in: partition))
            _ = try await fixture.commit(.of(1, [.insert("o", in: other)], in: other))
            let exact = Revision(epoch: 1, number: 1)
            #expect(try await served(exact, fixture) == [])
            #expect(try await fixture.store.serveAnew(app: StoreFixture.app, partition: partition) == 1)
            #expect(try await served(exact, fixture) == ["s:a"])
            #expect(try await served(exact, fixture, partition: other) == [])
            // What the device has afterwards counts, before and after the next write.
            let (_, head) = try await fixture.store.epochHistory(of: partition, app: StoreFixture.app)
            #expect(head.epoch > 1 && head.number == 1)
            #expect(try await served(head, fixture) == [])
            _ = try await fixture.commit(.of(2, [.insert("b", in: partition)], in: partition))
            #expect(try await served(head, fixture) == ["s:b"])
            #expect(try await served(exact, fixture) == ["s:a", "s:b"])
            // A restore afterwards keeps it.
            #expect(try await fixture.beginEpoch() > head.epoch)
            #expect(try await served(Revision(epoch: head.epoch, number: 2), fixture) == [])
            #expect(try await fixture.store.serveAnew(app: StoreFixture.app) == 2)
            #expect(try await served(exact, fixture, partition: other) == ["s:o"])
        }
    }

    @Test(arguments: ["device", "update", "SQL"])
    func `a write that waits while its partition is served anew is in the epoch that begins`(_ writer: String)
        async throws
    {
        try await StoreFixture.with { fixture in
            let partition = Partition.conversation("1")
            try await fixture.grant(in: partition)
            _ = try await fixture.commit(.of(1, [.insert("a", in: partition)], in: partition))
            _ = try await fixture.store.serveAnew(app: StoreFixture.app)
            try await fixture.client.withConnection { other in
                try await other.runScript("begin; select partita.serve_anew('\(StoreFixture.app)', null)")
                let write = Task {
                    switch writer {
                    case "device": _ = try await fixture.commit(.of(2, [.insert("b", in: partition)], in: partition))
                    case "update":
                        _ = try await fixture.store.collection("ChatMessage", database: "RChat", app: StoreFixture.app)
                            .updateOne(["_id": "a"], ["$set": ["text": "changed"]])
                    default:
                        try await fixture.client.execute(
                            "update \(fixture.table) set document = document || '{\"text\": \"changed\"}'")
                    }
                }
                try await eventually("the write waits") {
                    try await fixture.client.query(
                        "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
                    ).count == 1
                }
                try await other.runScript("commit")
                try await write.value
            }
            let (_, head) = try await fixture.store.epochHistory(of: partition, app: StoreFixture.app)
            #expect(head.number == 2)
            // A device that was served anew before the write gets it.
            #expect(
                try await served(Revision(epoch: head.epoch, number: 1), fixture) == [
                    writer == "device" ? "s:b" : "s:a"
                ])
            let rows = try await fixture.client.query("select distinct epoch from partita.changes where revision = 2")
            #expect(try rows.decode(Int32.self) == [head.epoch])
        }
    }

    /// The ids of what a device gets that subscribes with a checkpoint.
    private func served(
        _ checkpoint: Revision, _ fixture: StoreFixture, partition: Partition = .conversation("1")
    ) async throws -> [String] {
        let (history, head) = try await fixture.store.epochHistory(of: partition, app: StoreFixture.app)
        let point = history.resumePoint(for: checkpoint, head: head)
        let part = try await fixture.store.catchUp(
            app: StoreFixture.app, partition: partition, from: point.revision, deletionsAfter: point.horizon,
            user: "ada", device: "phone")
        #expect(part.to == head)
        return part.entries.map(\.idText)
    }
}
