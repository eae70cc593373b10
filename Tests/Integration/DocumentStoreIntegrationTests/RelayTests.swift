import ChangeStream
import DocumentModel
import DocumentStore
import EventStream
import EventTopics
import Postgres
import SyncEngine
import TestSupport
import Testing

struct RelayTests {
    let partition = Partition.conversation("1")

    @Test func `changes of all writers leave in the order of revisions, with their images`() async throws {
        try await RelayFixture.with { fixture in
            let base = fixture.base
            try await base.grant(in: partition)
            try await fixture.running(fixture.relay()) {
                _ = try await base.commit(.of(1, [.insert("a", ["n": 1], in: partition)], in: partition))
                try await base.client.execute(
                    "update \(base.table) set document = document || '{\"n\": 2, \"m\": true}'")
                try await base.store.collection("ChatMessage", database: "RChat", app: StoreFixture.app)
                    .deleteOne(["_id": "a"])
                try await eventually("three changes") { fixture.numbers(in: partition).count == 3 }
            }
            let changes = fixture.changes(in: partition)
            #expect(changes.map(\.revision.number) == [1, 2, 3])
            #expect(changes.map(\.operationType) == [.insert, .update, .delete])
            #expect(changes[0].origin == ChangeEvent.Origin(user: "ada", device: "phone", version: 1))
            #expect(changes[1].origin == nil)
            #expect(changes[1].fullDocumentBeforeChange?["n"]?.int64Value == 1)
            #expect(changes[1].fullDocument?["n"]?.int64Value == 2)
            #expect(changes[1].updateDescription?.updatedFields.fields.map(\.key).sorted() == ["m", "n"])
            #expect(changes[2].fullDocument == nil)
            #expect(changes[2].documentKey == "a")
        }
    }

    @Test func `what was committed while no relay ran is published by the next one`() async throws {
        try await RelayFixture.with { fixture in
            try await fixture.base.grant(in: partition)
            _ = try await fixture.base.commit(
                .of(1, (0..<600).map { .insert("m\($0)", in: partition) }, in: partition))
            try await fixture.running(fixture.relay()) {
                try await eventually("all of it") { fixture.numbers(in: partition).count >= 600 }
            }
            #expect(fixture.numbers(in: partition).firstOccurrences == Array(1...600))
        }
    }

    @Test func `each change says whether the next one belongs to the same commit`() async throws {
        try await RelayFixture.with { fixture in
            let base = fixture.base
            for user in ["ada", "bob"] { try await base.grant(to: user, in: partition) }
            _ = try await base.commit(.of(1, (0..<5).map { .insert("a\($0)", in: partition) }, in: partition))
            // One transaction commits the changesets of several devices.
            let both = try await base.commit([
                .of(2, [.insert("b", in: partition), .insert("c", in: partition)], in: partition),
                .of(1, [.insert("d", in: partition), .insert("e", in: partition)], user: "bob", in: partition),
            ])
            #expect(both.count == 2)
            try await base.client.execute(
                "update \(base.table) set document = document || '{\"n\": 1}' where _id < 's:c'")
            try await fixture.running(fixture.relay(.init(leaseDuration: .seconds(1), changesPerPartition: 3))) {
                try await eventually("all of it") { fixture.numbers(in: partition).count >= 15 }
            }
            var ends: [Int64] = []
            for change in fixture.changes(in: partition) where !change.continues { ends.append(change.revision.number) }
            #expect(ends.firstOccurrences == [5, 7, 9, 15])
        }
    }

    @Test func `documents are read for publishing up to a number of bytes, whatever they compress to`() async throws {
        try await RelayFixture.with { fixture in
            try await fixture.base.grant(in: partition)
            let texts = [
                String(repeating: "x", count: 300_000), String(repeating: "y", count: 2_000_000),
                (0..<60_000).map { String($0 &* 2_654_435_761 % 1_000_003, radix: 36) }.joined(),
            ]
            for number in 1...9 {
                let text = Value.string(texts[number % 3])
                _ = try await fixture.base.commit(
                    .of(Int64(number), [.insert("m\(number)", ["text": text], in: partition)], in: partition))
            }
            try await fixture.running(fixture.relay(.init(leaseDuration: .seconds(1), bytesPerRound: 400_000))) {
                try await eventually("all of it") { fixture.all.filter { $0.partition == partition }.count >= 9 }
            }
            #expect(fixture.numbers(in: partition).firstOccurrences == [2, 3, 5, 6, 8, 9])
            #expect(fixture.large(in: partition).firstOccurrences == [1, 4, 7])
        }
    }

    @Test func `changes of large documents are read a few at a time`() async throws {
        try await RelayFixture.with { fixture in
            try await fixture.base.grant(in: partition)
            let text = Value.string(String(repeating: "x", count: 1 << 20))
            for number in 1...12 {
                _ = try await fixture.base.commit(
                    .of(Int64(number), [.insert("m\(number)", ["text": text], in: partition)], in: partition))
            }
            let history = ChangeHistory(client: fixture.base.client)
            let key = PartitionKey(app: StoreFixture.app, partition: partition)
            var pages: [[Int64]] = []
            while pages.last?.last != 12 {
                let page = try await history.changes(key, after: pages.last?.last ?? 0, limit: 200)
                pages.append(page.map(\.revision.number))
                try #require(!page.isEmpty)
            }
            #expect(Array(pages.joined()) == Array(1...12))
            #expect(pages.map(\.count) == [4, 4, 4])
            #expect(try await history.changes(key, after: 3, limit: 2).map(\.revision.number) == [4, 5])
        }
    }

    @Test func `a change that was not marked is published again under the same id`() async throws {
        try await RelayFixture.with { fixture in
            try await fixture.base.grant(in: partition)
            _ = try await fixture.base.commit(.of(1, [.insert("a", in: partition)], in: partition))
            try await fixture.running(fixture.relay()) {
                try await eventually("the change") { fixture.numbers(in: partition).contains(1) }
            }
            let before = fixture.numbers(in: partition).count
            try await fixture.base.client.execute("delete from partita.published")
            try await fixture.running(fixture.relay()) {
                try await eventually("the change again") { fixture.numbers(in: partition).count > before }
            }
            #expect(Set(fixture.changes(in: partition).map(\.id)).count == 1)
        }
    }

    @Test func `relays share the shards, and take over from one that stopped`() async throws {
        try await RelayFixture.with { fixture in
            let partitions = (0..<12).map { Partition.conversation("p\($0)") }
            for partition in partitions { try await fixture.base.grant(in: partition) }
            @Sendable func write(_ version: Int64) async throws {
                let uploads = partitions.map { partition in
                    Upload.of(version, [.insert("\(partition.text)-\(version)", in: partition)], in: partition)
                }
                _ = try await fixture.base.commit(uploads)
            }
            let first = fixture.relay()
            let second = fixture.relay()
            try await fixture.running(first) {
                try await fixture.running(second) {
                    try await eventually("both lead") {
                        !first.ledShards.isEmpty && !second.ledShards.isEmpty
                            && first.ledShards.union(second.ledShards).count == 32
                            && first.ledShards.isDisjoint(with: second.ledShards)
                    }
                    for version in 1...5 as ClosedRange<Int64> { try await write(version) }
                    try await eventually("five each") {
                        partitions.allSatisfy { fixture.numbers(in: $0).count >= 5 }
                    }
                }
                for version in 6...10 as ClosedRange<Int64> { try await write(version) }
                try await eventually("ten each") { partitions.allSatisfy { fixture.numbers(in: $0).count >= 10 } }
            }
            for partition in partitions { #expect(fixture.numbers(in: partition).firstOccurrences == Array(1...10)) }
        }
    }

    @Test func `the work of a killed relay is taken over within three seconds`() async throws {
        try await RelayFixture.with { fixture in
            let client = fixture.base.client
            try await fixture.base.grant(in: partition)
            let options = OutboxRelay.Options()
            try await fixture.running(fixture.relay(options)) {
                try await eventually("it leads") {
                    try await client.query("select 1 from partita.work_leases").count == options.shards
                }
            }
            // The relay above released its leases at its end; a killed one holds them as long as they last.
            try await client.execute(
                "update partita.work_leases set expires_at = clock_timestamp() + $1::bigint * interval '1 millisecond'",
                [.int(options.leaseDuration.wholeMilliseconds)])
            let killed = ContinuousClock.now
            try await fixture.running(fixture.relay(options)) {
                _ = try await fixture.base.commit(.of(1, [.insert("a", in: partition)], in: partition))
                try await eventually("the change", every: .milliseconds(20)) {
                    !fixture.numbers(in: partition).isEmpty
                }
            }
            #expect(ContinuousClock.now - killed < .seconds(3))
        }
    }

    @Test func `a relay that lost its lease to another one marks nothing`() async throws {
        try await RelayFixture.with { fixture in
            let client = fixture.base.client
            try await fixture.base.grant(in: partition)
            try await fixture.running(
                fixture.relay(.init(leaseDuration: .seconds(60), sweepInterval: .seconds(60)))
            ) {
                _ = try await fixture.base.commit(.of(1, [.insert("a", in: partition)], in: partition))
                try await eventually("the mark") {
                    try await client.query("select 1 from partita.published where revision = 1").count == 1
                }
                try await client.execute("update partita.work_leases set holder = 'other', fence = fence + 1")
                _ = try await fixture.base.commit(.of(2, [.insert("b", in: partition)], in: partition))
                try await eventually("the change, which consumers may get twice") {
                    fixture.numbers(in: partition).contains(2)
                }
            }
            let marks = try await client.query("select revision from partita.published")
            #expect(try marks.map { try $0.decode(0, as: Int64.self) } == [1])
        }
    }

    @Test func `a large change is published without its documents, and heads are published`() async throws {
        try await RelayFixture.with { fixture in
            try await fixture.base.grant(in: partition)
            let text = String(repeating: "x", count: 2000)
            try await fixture.running(
                fixture.relay(.init(leaseDuration: .seconds(1), headInterval: .milliseconds(100), messageLimit: 1000))
            ) {
                _ = try await fixture.base.commit(
                    .of(1, [.insert("a", ["text": .string(text)], in: partition)], in: partition))
                try await eventually("its name and the head") { fixture.all.count >= 2 }
            }
            guard case .large(let change) = fixture.all[0], case .head(let head) = fixture.all[1] else {
                Issue.record("\(fixture.all)")
                return
            }
            #expect(change.size > 2000)
            #expect(head.head == Revision(epoch: 1, number: 1))
            let history = ChangeHistory(client: fixture.base.client)
            let whole = try await history.change(
                app: change.app, partition: change.partition, revision: change.revision)
            #expect(whole?.fullDocument?["text"]?.stringValue == text)
        }
    }

    @Test func `an update whose description makes its message too large doesn't stop those behind it`() async throws {
        try await RelayFixture.with { fixture in
            try await fixture.base.grant(in: partition)
            let elements = (0..<9_000).map { Value.document(["name": .string("element \($0)"), "v": 0]) }
            try await fixture.running(fixture.relay()) {
                _ = try await fixture.base.commit(
                    .of(1, [.insert("a", ["list": .array(elements)], in: partition)], in: partition))
                _ = try await fixture.base.commit(
                    .of(2, [.update("a", ["$set": ["list.$[].v": .int32(1)]])], in: partition))
                _ = try await fixture.base.commit(.of(3, [.insert("b", in: partition)], in: partition))
                try await eventually("the last change") { fixture.numbers(in: partition).contains(3) }
            }
            #expect(fixture.numbers(in: partition).firstOccurrences == [1, 3])
            #expect(fixture.large(in: partition).firstOccurrences == [2])
        }
    }

    @Test(.needsRealBroker) func `a change that the topic's limit excludes doesn't stop those behind it`() async throws
    {
        try await RelayFixture.with(topic: ["max.message.bytes": "100000"]) { fixture in
            try await fixture.base.grant(in: partition)
            var generator = SeededGenerator(seed: 1)
            let text = String(
                (0..<400_000).map { _ in Character(Unicode.Scalar(UInt8.random(in: 48...122, using: &generator))) })
            try await fixture.running(fixture.relay()) {
                _ = try await fixture.base.commit(
                    .of(1, [.insert("a", ["text": .string(text)], in: partition)], in: partition))
                _ = try await fixture.base.commit(.of(2, [.insert("b", in: partition)], in: partition))
                try await eventually("the last change") { fixture.numbers(in: partition).contains(2) }
            }
            #expect(fixture.large(in: partition).firstOccurrences == [1])
        }
    }

    @Test func `a consumer finds heads and lost changes in the history`() async throws {
        try await StoreFixture.with { fixture in
            try await HandledEvents.migrations.apply(on: fixture.client)
            let (history, handled) = (ChangeHistory(client: fixture.client), HandledEvents(consumer: "reader"))
            for name in ["1", "2", "3"] {
                let partition = Partition.conversation(name)
                try await fixture.grant(in: partition)
                _ = try await fixture.commit(
                    .of(1, [.insert("a" + name, in: partition), .insert("b" + name, in: partition)], in: partition))
            }
            let first = try await history.heads(unhandledBy: "reader", of: .all, after: nil, limit: 2)
            #expect(first.map(\.partition) == [.conversation("1"), .conversation("2")])
            let key = PartitionKey(app: StoreFixture.app, partition: .conversation("2"))
            let rest = try await history.heads(unhandledBy: "reader", of: .all, after: key, limit: 10)
            #expect(rest.map(\.partition) == [.conversation("3")])
            // What it has handled is left out; a part is not enough.
            try await handled.record(
                [(key, Revision(epoch: 1, number: 1)), (key, Revision(epoch: 1, number: 2))], on: fixture.client)
            try await handled.record(
                [(.init(app: key.app, partition: .conversation("1")), Revision(epoch: 1, number: 2))],
                on: fixture.client)
            let left = try await history.heads(unhandledBy: "reader", of: .all, after: nil, limit: 10)
            #expect(left.map(\.partition) == [.conversation("1"), .conversation("3")])
            #expect(try await history.heads(unhandledBy: "another", of: .all, after: nil, limit: 10).count == 3)
            // At any time a partition has changed lately or hasn't.
            try await fixture.client.execute(
                "update partita.changes set wall_time = now() - interval '2 minutes' where partition = $1",
                [.text(Partition.conversation("1").text)])
            func found(_ scope: SweepScope) async throws -> [Partition] {
                try await history.heads(unhandledBy: "reader", of: scope, after: nil, limit: 10).map(\.partition)
            }
            #expect(try await found(.changed(within: .seconds(90))) == [.conversation("3")])
            #expect(try await found(.unchanged(for: .seconds(90))) == [.conversation("1")])
            #expect(try await found(.changed(within: .zero)) == [])
            let lost = try await history.changes(key, after: 1, limit: 10)
            #expect(lost.map(\.documentKey) == ["b2"])
        }
    }

    @Test func `the history knows which changes a restore has lost`() async throws {
        try await StoreFixture.with { fixture in
            let history = ChangeHistory(client: fixture.client)
            let (written, untouched) = (Partition.conversation("1"), Partition.conversation("2"))
            for partition in [written, untouched] {
                try await fixture.grant(in: partition)
                _ = try await fixture.commit(.of(1, [.insert("a" + partition.text, in: partition)], in: partition))
            }
            func areLost(_ revisions: [Revision], in partition: Partition) async throws -> [Bool] {
                let key = PartitionKey(app: StoreFixture.app, partition: partition)
                return try await history.areLost(revisions.map { (key, $0) })
            }
            let old = [1, 2].map { Revision(epoch: 1, number: $0) }
            #expect(try await areLost(old, in: written) == [false, true])
            let epoch = try await fixture.beginEpoch()
            _ = try await fixture.commit(.of(2, [.insert("b", in: written)], in: written))
            let new = [2, 3].map { Revision(epoch: epoch, number: $0) }
            let other = [Revision(epoch: epoch - 1, number: 1), Revision(epoch: epoch + 1, number: 1)]
            #expect(try await areLost(old + new + other, in: written) == [false, true, false, true, true, true])
            #expect(try await areLost(old + new, in: untouched) == [false, true, true, true])
            #expect(try await areLost(old, in: .conversation("never written")) == [true, true])
            // Nothing is lost when devices are only to download everything again.
            _ = try await fixture.store.serveAnew(app: StoreFixture.app)
            #expect(try await areLost(old + new, in: written) == [false, true, false, true])
        }
    }
}

extension [Int64] {
    /// Without what was delivered again.
    fileprivate var firstOccurrences: [Int64] {
        var seen: Set<Int64> = []
        return filter { seen.insert($0).inserted }
    }
}
