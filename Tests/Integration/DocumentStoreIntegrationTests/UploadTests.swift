import DocumentModel
import DocumentStore
import SyncEngine
import Testing

struct UploadTests {
    let partition = Partition.conversation("1")

    @Test func `a changeset takes consecutive revisions and leaves both forms of its documents`() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.grant(in: partition)
            let result = try await fixture.commit(
                .of(
                    1,
                    [
                        .insert("a", ["text": "hi", "at": .date(5), "n": .int64(7)], in: partition),
                        .insert("b", in: partition), .update("a", ["$set": ["text": "ho"]]),
                    ], in: partition))
            #expect(result.acknowledgement?.revision == Revision(epoch: 1, number: 2))
            let changes = try await fixture.changes(in: partition)
            #expect(changes.map(\.number) == [1, 2])
            #expect(changes.map(\.id) == ["s:a", "s:b"])
            let row = try await fixture.client.query(
                "select body::text, document::text, revision, incarnation from \(fixture.table) where _id = 's:a'")
            let (body, plain, revision, incarnation) = try row[0].decode((String, String, Int64, Int64).self)
            #expect(
                body
                    == #"{"_id":"a","text":"ho","at":{"$date":{"$numberLong":"5"}},"n":{"$numberLong":"7"},"partition":"conversation=1"}"#
            )
            #expect(
                plain
                    == #"{"n": 7, "at": {"$date": 5}, "_id": "a", "text": "ho", "partition": "conversation=1"}"#)
            #expect(revision == 1)
            #expect(incarnation == 1)
        }
    }

    @Test func `a changeset that is sent again is acknowledged with the same revision and changes nothing`()
        async throws
    {
        try await StoreFixture.with { fixture in
            try await fixture.grant(in: partition)
            let insert = Upload.of(1, [.insert("a", ["n": 0], in: partition)], in: partition)
            let increment = Upload.of(2, [.update("a", ["$inc": ["n": 1]])], in: partition)
            let first = try await fixture.commit([insert, increment])
            let again = try await fixture.commit([insert, increment, increment])
            #expect(first.map { $0.acknowledgement?.revision.number } == [1, 2])
            #expect(again.map { $0.acknowledgement?.revision.number } == [1, 2, 2])
            #expect(try await fixture.document("a")?["n"]?.int64Value == 1)
            #expect(try await fixture.head(of: partition) == 2)
        }
    }

    @Test func `the first upload ever to a partition waits for a revocation that is being committed`() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.grant(in: partition)
            let (isRevoked, revoked) = AsyncStream.makeStream(of: Void.self)
            async let revocation: Void = fixture.client.withTransaction { transaction in
                // As a decision does it: there is no row of the partition that it could lock.
                _ = try await transaction.query("select from partita.partitions for update")
                try await transaction.execute("update partita.grants set access = 'none'")
                revoked.finish()
                try await Task.sleep(for: .milliseconds(300))
            }
            for await _ in isRevoked {}
            let result = try await fixture.commit(.of(1, [.insert("a", ["n": 0], in: partition)], in: partition))
            try await revocation
            #expect(result.rejection?.code == .notPermitted)
            #expect(try await fixture.document("a") == nil)
        }
    }

    @Test func `a blocked user can't write by the grant for all users`() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.grant(in: partition)
            let upload = Upload.of(1, [.insert("a", ["n": 0], in: partition)], in: partition)
            try await fixture.client.execute(
                "insert into partita.shut_out_users (app, user_id, is_deleted) values ($1, $2, false)",
                [.text(StoreFixture.app), .text(upload.user)])
            #expect(try await fixture.commit(upload).rejection?.code == .notPermitted)
            try await fixture.client.execute("delete from partita.shut_out_users")
            #expect(
                try await fixture.commit(.of(2, [.insert("a", ["n": 0], in: partition)], in: partition)).rejection
                    == nil)
        }
    }

    @Test func `a write whose grant has expired is neither accepted nor rejected`() async throws {
        try await StoreFixture.with { fixture in
            let upload = Upload.of(1, [.insert("a", ["n": 0], in: partition)], in: partition)
            try await fixture.grant(to: upload.user, in: partition)
            func expire(in seconds: Int) async throws {
                _ = try await fixture.client.query(
                    "update partita.grants set expires_at = clock_timestamp() + make_interval(secs => $1)",
                    [.double(Double(seconds))])
            }
            try await expire(in: -1)
            // What comes behind it has to wait, too.
            let next = Upload.of(2, [.insert("b", ["n": 0], in: partition)], in: partition)
            let results = try await fixture.commit([upload, next])
            guard case .undecided = results[0], case .outOfOrder(expected: 1) = results[1] else {
                Issue.record("\(results)")
                return
            }
            #expect(try await fixture.document("a") == nil)
            try await expire(in: 60)
            for upload in [upload, next] {
                #expect(try await fixture.commit(upload).rejection == nil)
            }
            #expect(try await fixture.document("b") != nil)
        }
    }

    @Test func `a move to a partition whose grant has expired is neither accepted nor rejected`() async throws {
        try await StoreFixture.with { fixture in
            let target = Partition.conversation("2")
            for partition in [partition, target] { try await fixture.grant(to: "ada", in: partition) }
            _ = try await fixture.commit(.of(1, [.insert("a", in: partition)], in: partition))
            _ = try await fixture.client.query(
                "update partita.grants set expires_at = clock_timestamp() where partition = $1", [.text(target.text)])
            let move = Upload.of(
                2, [.update("a", ["$set": ["partition": "conversation=2"]])], in: partition)
            guard case .undecided(target) = try await fixture.commit(move) else {
                Issue.record("it was decided")
                return
            }
            _ = try await fixture.client.query("update partita.grants set expires_at = null")
            #expect(try await fixture.commit(move).acknowledgement?.revision.number == 2)
        }
    }

    @Test func `two copies of a device that write the same are two devices`() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.grant(in: partition)
            _ = try await fixture.commit(.of(1, [.insert("a", ["n": 0], in: partition)], in: partition))
            func increment(at time: Int64) -> Upload {
                .of(2, [.update("a", ["$inc": ["n": 1]])], in: partition, time: time)
            }
            let first = try await fixture.commit(increment(at: 1_700_000_000_000))
            #expect(first.acknowledgement?.revision.number == 2)
            guard case .forked = try await fixture.commit(increment(at: 1_700_000_000_001)) else {
                Issue.record("the second was taken for the first")
                return
            }
            #expect(try await fixture.document("a")?["n"]?.int64Value == 1)
        }
    }

    @Test func `the same changeset twice in one batch is applied once`() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.grant(in: partition)
            let insert = Upload.of(1, [.insert("a", ["n": 0], in: partition)], in: partition)
            let results = try await fixture.commit([insert, insert])
            #expect(results.map { $0.acknowledgement?.revision.number } == [1, 1])
            #expect(try await fixture.head(of: partition) == 1)
        }
    }

    @Test func `a known version with other content is a fork`() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.grant(in: partition)
            _ = try await fixture.commit(.of(1, [.insert("a", in: partition)], in: partition))
            let other = try await fixture.commit(.of(1, [.insert("b", in: partition)], in: partition))
            #expect(other.isForked)
            #expect(try await fixture.document("b") == nil)
        }
    }

    @Test func `after a fork changesets in flight don't count, and earlier answers are repeated`() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.grant(in: partition)
            let first = Upload.of(1, [.insert("a", in: partition)], in: partition)
            let late = Upload.of(2, [.insert("late", in: partition)], in: partition)
            _ = try await fixture.commit(first)
            // In one batch, and in one that follows.
            let forked = try await fixture.commit([.of(1, [.insert("b", in: partition)], in: partition), late])
            #expect(forked.map(\.isForked) == [true, true])
            #expect(try await fixture.commit(late).isForked)
            #expect(try await fixture.commit(.of(9, [.insert("c", in: partition)], in: partition)).isForked, "no gap")
            #expect(try await fixture.commit(first).acknowledgement?.revision.number == 1)
            #expect(try await fixture.head(of: partition) == 1)
        }
    }

    @Test func `what is committed concurrently with a fork is known to later requests`() async throws {
        try await StoreFixture.with { fixture in
            for round in 0..<20 {
                let partition = Partition(text: "s:fork-\(round)")
                try await fixture.grant(in: partition)
                _ = try await fixture.commit(.of(1, [.insert("a\(round)", in: partition)], in: partition))
                let late = Upload.of(2, [.insert("late\(round)", in: partition)], in: partition)
                async let stray = fixture.commit(late)
                async let forked = fixture.commit(.of(1, [.insert("b\(round)", in: partition)], in: partition))
                let (first, _) = try await (stray, forked)
                let again = try await fixture.commit(late)
                #expect(first.isForked == again.isForked, "round \(round)")
                let isThere = try await fixture.document("late\(round)") != nil
                #expect(isThere != again.isForked, "round \(round)")
            }
        }
    }

    @Test func `a version that skips one is out of order`() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.grant(in: partition)
            let result = try await fixture.commit(.of(3, [.insert("a", in: partition)], in: partition))
            guard case .outOfOrder(let expected) = result else {
                Issue.record("\(result)")
                return
            }
            #expect(expected == 1)
        }
    }

    @Test func `a changeset that takes too long to apply is rejected, since all others wait for it`() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.grant(in: partition)
            let list = Value.array(Array(repeating: .string(String(repeating: "a", count: 18) + "!"), count: 20_000))
            _ = try await fixture.commit(.of(1, [.insert("m", ["list": list], in: partition)], in: partition))
            let start = ContinuousClock.now
            // Each match ends in a millisecond, before the library's own limit.
            let pull: Document = ["$pull": ["list": .regex(RegularExpression("(a+)+$", options: ""))]]
            let result = try await fixture.commit(.of(2, [.update("m", pull)], in: partition))
            #expect(result.rejection?.code == .badUpdate, "\(result)")
            #expect(result.rejection?.reason.contains("takes too long") == true, "\(result)")
            #expect(ContinuousClock.now - start < .seconds(10))
        }
    }

    @Test func `a rejected changeset advances the counter, is answered again, and blocks no other`() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.grant(in: partition)
            let good = Upload.of(1, [.insert("a", ["n": "text"], in: partition)], in: partition)
            let bad = Upload.of(
                2, [.insert("b", in: partition), .update("a", ["$inc": ["n": 1]])], in: partition)
            let other = Upload.of(1, [.insert("c", in: partition)], device: "tablet", in: partition)
            let behind = Upload.of(3, [.insert("d", in: partition)], in: partition)
            let results = try await fixture.commit([good, bad, other, behind])
            #expect(results[1].rejection?.code == .badUpdate)
            #expect([0, 2, 3].map { results[$0].acknowledgement?.revision.number } == [1, 2, 3])
            #expect(try await fixture.document("b") == nil)
            let again = try await fixture.commit(bad)
            #expect(again.rejection == results[1].rejection)
        }
    }

    @Test func `nothing is written without a grant, and the user's own precedes the one for all users`() async throws {
        try await StoreFixture.with { fixture in
            let refused = try await fixture.commit(.of(1, [.insert("a", in: partition)], in: partition))
            #expect(refused.rejection?.code == .notPermitted)
            try await fixture.grant(.write, in: partition)
            try await fixture.grant(.read, to: "ada", in: partition)
            let ada = Upload.of(2, [.insert("a", in: partition)], in: partition)
            let bob = Upload.of(1, [.insert("b", in: partition)], user: "bob", device: "bobs", in: partition)
            let results = try await fixture.commit([ada, bob])
            #expect(results[0].rejection?.code == .notPermitted)
            #expect(results[1].acknowledgement != nil)
        }
    }

    @Test func `an _id that another partition holds is refused for inserts and unknown to updates`() async throws {
        try await StoreFixture.with { fixture in
            let elsewhere = Partition.conversation("2")
            try await fixture.grant(in: partition)
            try await fixture.grant(in: elsewhere)
            _ = try await fixture.commit(.of(1, [.insert("a", ["n": 1], in: elsewhere)], in: elsewhere))
            let insert = try await fixture.commit(.of(1, [.insert("a", in: partition)], in: partition))
            #expect(insert.rejection?.code == .wrongPartition)
            let update = try await fixture.commit(.of(2, [.update("a", ["$set": ["n": 2]])], in: partition))
            #expect(update.acknowledgement?.lost == [LostWrite(operation: 0, reason: .deleted)])
            #expect(try await fixture.document("a")?["n"]?.int64Value == 1)
        }
    }

    @Test func `of two sets since the same base the later clock wins, and the loser is reported`() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.grant(in: partition)
            _ = try await fixture.commit(.of(1, [.insert("a", ["x": 0], in: partition)], in: partition))
            let base = Revision(epoch: 1, number: 1)
            func set(_ value: Int64, by device: String, at time: Int64, version: Int64) -> Upload {
                .of(
                    version, [.update("a", ["$set": ["x": .int64(value)]], incarnation: base, base: base)],
                    device: device, in: partition, time: time)
            }
            let later = set(2, by: "tablet", at: 1_700_000_009_000, version: 1)
            let earlier = set(1, by: "phone", at: 1_700_000_005_000, version: 2)
            let results = try await fixture.commit([later, earlier])
            #expect(results[0].acknowledgement?.lost == [])
            #expect(results[1].acknowledgement?.lost == [LostWrite(operation: 0, reason: .overwritten, paths: ["x"])])
            #expect(try await fixture.document("a")?["x"]?.int64Value == 2)
            let again = try await fixture.commit(earlier)
            #expect(again.acknowledgement?.lost == [LostWrite(operation: 0, reason: .overwritten, paths: ["x"])])
            #expect(again.acknowledgement?.revision == results[1].acknowledgement?.revision)
            // Read back from the table, where the revisions of that batch were written relative to the row's.
            let third = set(3, by: "watch", at: 1_700_000_007_000, version: 1)
            #expect(
                try await fixture.commit(third).acknowledgement?.lost == [
                    LostWrite(operation: 0, reason: .overwritten, paths: ["x"])
                ])
        }
    }

    @Test func `a deleted document comes back as another incarnation`() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.grant(in: partition)
            let first = Revision(epoch: 1, number: 1)
            _ = try await fixture.commit(.of(1, [.insert("a", in: partition)], in: partition))
            _ = try await fixture.commit(.of(2, [.delete("a", incarnation: first)], in: partition))
            let both = try await fixture.commit([
                .of(3, [.insert("a", ["n": 1], in: partition)], in: partition),
                .of(1, [.update("a", ["$inc": ["n": 1]], incarnation: first)], device: "tablet", in: partition),
            ])
            #expect(both[1].acknowledgement?.lost == [LostWrite(operation: 0, reason: .deleted)])
            let rows = try await fixture.client.query("select incarnation, revision from \(fixture.table)")
            let (incarnation, revision) = try rows[0].decode((Int64, Int64).self)
            #expect([incarnation, revision] == [3, 3])
            let tombstones = try await fixture.client.query("select revision, incarnation from partita.tombstones")
            let (removal, removed) = try tombstones[0].decode((Int64, Int64).self)
            #expect([removal, removed] == [2, 1])
        }
    }

    @Test func `a changeset with an id counts once, also under another version; one without may look like another`()
        async throws
    {
        try await StoreFixture.with { fixture in
            try await fixture.grant(in: partition)
            _ = try await fixture.commit(.of(1, [.insert("a", ["n": .int64(0)], in: partition)], in: partition))
            let increment = Operation.update("a", ["$inc": ["n": .int64(1)]])
            let clock = HybridTime(milliseconds: 1_700_000_000_000)
            func upload(_ version: Int64, _ id: String?) -> Upload {
                Upload(
                    user: "ada", device: "phone", partition: partition,
                    changeset: Changeset(version: version, clock: clock, id: id, operations: [increment]), time: clock)
            }
            let first = try await fixture.commit(upload(2, "x"))
            #expect(first.acknowledgement?.revision.number == 2)
            // A copy of the device has something else before it.
            #expect(try await fixture.commit(upload(3, "x")).acknowledgement?.revision.number == 2)
            #expect(try await fixture.commit(upload(2, "y")).isForked)
            #expect(try await fixture.document("a")?["n"] == .int64(1))
        }
        try await StoreFixture.with { fixture in
            try await fixture.grant(in: partition)
            _ = try await fixture.commit(.of(1, [.insert("a", ["n": .int64(0)], in: partition)], in: partition))
            for version in 2...4 as ClosedRange<Int64> {
                _ = try await fixture.commit(
                    .of(version, [.update("a", ["$inc": ["n": .int64(1)]])], in: partition))
            }
            #expect(try await fixture.document("a")?["n"] == .int64(3))
        }
    }

    @Test func `a moved document is a delete and an insert, but one update for triggers`() async throws {
        try await StoreFixture.with { fixture in
            let target = Partition.conversation("2")
            try await fixture.grant(in: partition)
            _ = try await fixture.commit(.of(1, [.insert("a", in: partition)], in: partition))
            let move = Operation.update("a", ["$set": ["partition": "conversation=2"]])
            let refused = try await fixture.commit(.of(2, [move], in: partition))
            #expect(refused.rejection?.code == .wrongPartition)
            try await fixture.grant(in: target)
            let moved = try await fixture.commit(.of(3, [move], in: partition))
            #expect(moved.acknowledgement?.revision.number == 2)
            #expect(try await fixture.changes(in: partition).map(\.operation) == ["insert", "delete"])
            let arrival = try await fixture.client.query(
                """
                select operation, moved_partition, moved_revision, incarnation, origin_version
                from partita.changes where partition = $1
                """, [.text(target.text)])
            let (operation, left, removal, incarnation, version) =
                try arrival[0].decode((String, String, Int64, Int64, Int64).self)
            #expect([operation, left] == ["update", partition.text])
            #expect([removal, incarnation, version] == [2, 1, 3])
            let tombstones = try await fixture.client.query("select partition from partita.tombstones")
            #expect(try tombstones.map { try $0.decode(0, as: String.self) } == [partition.text])
        }
    }

    @Test func `a document that is inserted and moved at once only arrives`() async throws {
        try await StoreFixture.with { fixture in
            let target = Partition.conversation("2")
            try await fixture.grant(in: partition)
            let insert = Operation.insert("a", in: partition)
            let move = Operation.update("a", ["$set": ["partition": "conversation=2"]])
            let refused = try await fixture.commit(.of(1, [insert, move], in: partition))
            #expect(refused.rejection?.code == .wrongPartition)
            try await fixture.grant(in: target)
            let moved = try await fixture.commit(.of(2, [insert, move], in: partition))
            #expect(moved.acknowledgement?.lost == [])
            #expect(try await fixture.changes(in: partition).isEmpty)
            #expect(try await fixture.changes(in: target).map(\.operation) == ["insert"])
            #expect(try await fixture.client.query("select partition from partita.tombstones").isEmpty)
            // What the partition never had can't come into another one through it.
            let again = Operation.update("b", ["$set": ["partition": "conversation=2"]])
            let foreign = try await fixture.commit(.of(3, [.insert("b", in: target), again], in: partition))
            #expect(foreign.rejection?.code == .wrongPartition)
            // It is that partition's now.
            let late = try await fixture.commit(.of(4, [.update("a", ["$set": ["n": 1]])], in: partition))
            #expect(late.acknowledgement?.lost == [LostWrite(operation: 0, reason: .deleted)])
            let own = try await fixture.commit(.of(1, [.update("a", ["$set": ["n": 2]])], in: target))
            #expect(own.acknowledgement?.lost == [])
        }
    }

    @Test func `a document that changes often in one batch has a change row of each, with its images`() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.grant(in: partition)
            _ = try await fixture.commit([
                .of(1, [.insert("a", ["n": 0], in: partition)], in: partition),
                .of(2, [.update("a", ["$inc": ["n": 1]])], in: partition),
                .of(3, [.delete("a")], in: partition),
                .of(4, [.insert("a", ["n": 9], in: partition)], in: partition),
            ])
            let rows = try await fixture.client.query(
                """
                select operation, before #>> '{n,$numberInt}', after #>> '{n,$numberInt}', incarnation
                from partita.changes order by revision
                """)
            let seen = try rows.map { try $0.decode((String, String?, String?, Int64).self) }
            #expect(seen.map(\.0) == ["insert", "update", "delete", "insert"])
            #expect(seen.map(\.1) == [nil, "0", "1", nil])
            #expect(seen.map(\.2) == ["0", "1", nil, "9"])
            #expect(seen.map(\.3) == [1, 1, 1, 4])
        }
    }

    @Test func `an upload reads nothing of a collection but the documents that it names`() async throws {
        try await StoreFixture.with { fixture in
            let partition = Partition.conversation("grown")
            try await fixture.grant(in: partition)
            func upload(_ version: Int64, _ prefix: String, _ count: Int) async throws {
                let operations = (0..<count).map { Operation.insert("\(prefix)-\($0)", in: partition) }
                let results = try await fixture.store.commit(
                    [.of(version, operations, in: partition)], app: StoreFixture.app)
                #expect(try results[0]?.get().acknowledgement != nil)
            }
            /// The rows that were inserted, and those that were read without an index; each backend reports a moment later.
            func statistics(inserted: Int64) async throws -> Int64 {
                for _ in 0..<200 {
                    let row = try await fixture.client.query(
                        "select n_tup_ins, seq_tup_read from pg_stat_user_tables where relname = 'ChatMessage'"
                    ).first
                    let (rows, read) = try #require(row).decode((Int64, Int64).self)
                    if rows >= inserted { return read }
                    try await Task.sleep(for: .milliseconds(50))  // Postgres has no event to wait for
                }
                throw CancellationError()
            }
            // Postgres takes the table for a small one, as it does until autovacuum looks at it again.
            try await upload(1, "small", 5)
            try await fixture.client.execute("analyze")
            try await upload(2, "grown", 3_000)
            let before = try await statistics(inserted: 3_005)
            for version in 3...7 as ClosedRange<Int64> { try await upload(version, "new-\(version)", 200) }
            #expect(try await statistics(inserted: 4_005) == before)
        }
    }
}

struct UnstorableUploadTests {
    let partition = Partition.conversation("1")

    @Test func `a changeset that can't be stored is rejected, and the rest of its batch is committed`() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.grant(in: partition)
            try await fixture.client.execute(
                "create unique index one_name on \(fixture.table) ((document -> 'name'))")
            let long = String(repeating: "x", count: 1025)
            let results = try await fixture.commit([
                .of(1, [.insert("a", ["name": "same"], in: partition)], in: partition),
                .of(1, [.insert("b", ["name": "same"], in: partition)], device: "tablet", in: partition),
                .of(1, [.insert(long, in: partition)], device: "watch", in: partition),
                .of(2, [.insert("c", in: partition)], device: "tablet", in: partition),
            ])
            #expect(results[0].acknowledgement != nil)
            #expect(results[1].rejection?.code == .duplicateKey)
            #expect(results[2].rejection?.code == .badId)
            #expect(results[3].acknowledgement != nil)
            #expect(try await fixture.changes(in: partition).map(\.number) == [1, 2])
        }
    }

    @Test func `a changeset that two gateways commit is applied once`() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.grant(in: partition)
            _ = try await fixture.commit(.of(1, [.insert("a", ["n": 0], in: partition)], in: partition))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        for version in 2...12 as ClosedRange<Int64> {
                            let upload = Upload.of(version, [.update("a", ["$inc": ["n": 1]])], in: partition)
                            var isAcknowledged = false
                            while !isAcknowledged {
                                let results = try await fixture.store.commit([upload], app: StoreFixture.app)
                                isAcknowledged = try results[0]?.get().acknowledgement != nil
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await fixture.document("a")?["n"]?.int64Value == 11)
            #expect(try await fixture.head(of: partition) == 12)
        }
    }
}
