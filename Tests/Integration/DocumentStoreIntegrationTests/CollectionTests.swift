import DocumentModel
import DocumentStore
import Postgres
import SyncEngine
import Testing

struct CollectionTests {
    private struct Refusal: Error {}

    let partition = Partition.conversation("1")

    private func collection(_ fixture: StoreFixture, _ name: String = "ChatMessage") -> DocumentCollection {
        fixture.store.collection(name, database: "RChat", app: StoreFixture.app)
    }

    @Test func `the variable NOW is the present in filters and projections`() async throws {
        try await StoreFixture.with { fixture in
            let messages = fixture.store.collection("ChatMessage", database: "RChat", app: StoreFixture.app)
            // The years 2001 and 2286.
            try await messages.insertMany([
                ["_id": "old", "partition": "p", "t": .date(1_000_000_000_000)],
                ["_id": "new", "partition": "p", "t": .date(10_000_000_000_000)],
            ])
            let isOver: Document = ["$expr": ["$lt": ["$t", "$$NOW"]]]
            let found = try await messages.find(
                isOver, options: FindOptions(projection: ["isOver": ["$lt": ["$t", "$$NOW"]]]))
            #expect(found == [["_id": "old", "isOver": true]])
            #expect(try await messages.countDocuments(isOver) == 1)
            #expect(try await messages.updateMany(isOver, ["$set": ["a": 1]]).modifiedCount == 1)
        }
    }

    @Test func `what is written is found, counted, changed and deleted`() async throws {
        try await StoreFixture.with { fixture in
            let messages = collection(fixture)
            let ids = try await messages.insertMany(
                (0..<30).map { ["_id": "m\($0)", "n": .int64(Int64($0)), "tags": ["t\($0 % 3)", "all"]] })
            #expect(ids.count == 30)
            #expect(try await messages.countDocuments() == 30)
            #expect(try await messages.countDocuments(["n": ["$gte": 20]]) == 10)
            #expect(try await messages.countDocuments(["tags": "t1"]) == 10)
            let last = try await messages.find(
                ["tags": "t0"], options: .init(sort: ["n": -1], skip: 1, limit: 2, projection: ["n": 1]))
            #expect(last.map { $0["n"]?.int64Value } == [24, 21])
            #expect(last.allSatisfy { $0["tags"] == nil })
            let updated = try await messages.updateMany(["n": ["$lt": 5]], ["$inc": ["n": 100]])
            #expect(updated.matchedCount == 5 && updated.modifiedCount == 5)
            let same = try await messages.updateOne(["_id": "m0"], ["$set": ["n": .int64(100)]])
            #expect(same.matchedCount == 1 && same.modifiedCount == 0)
            #expect(try await messages.distinct("tags", ["n": 104]) == ["all", "t1"])
            #expect(try await messages.deleteMany(["n": ["$gte": 100]]) == 5)
            #expect(try await messages.countDocuments() == 25)
        }
    }

    @Test func `upserts insert once, however many run at once`() async throws {
        try await StoreFixture.with { fixture in
            let messages = collection(fixture)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        try await messages.updateOne(
                            ["_id": "counter"], ["$inc": ["n": 1]], options: .init(upsert: true))
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await messages.findOne(["_id": "counter"])?["n"]?.int64Value == 8)
        }
    }

    @Test func `a duplicate _id is MongoDB's error 11000, and what came before it stays`() async throws {
        try await StoreFixture.with { fixture in
            let messages = collection(fixture)
            try await messages.insertOne(["_id": "b"])
            let single = await #expect(throws: DocumentStoreError.self) { try await messages.insertOne(["_id": "b"]) }
            #expect(single?.mongoCode == 11000)
            let many = await #expect(throws: BulkWriteError.self) {
                try await messages.insertMany([["_id": "a"], ["_id": "b"], ["_id": "c"]])
            }
            #expect(many?.failures[1]?.mongoCode == 11000)
            #expect(try await messages.find(options: .init(sort: ["_id": 1])).map { $0["_id"] } == ["a", "b"])
        }
    }

    private func refusedTransaction(_ fixture: StoreFixture) async throws {
        try await fixture.store.withTransaction(app: StoreFixture.app) { session in
            let messages = session.collection("ChatMessage", database: "RChat")
            try await messages.insertOne(["_id": "a", "n": 1])
            try await messages.updateOne(["n": 1], ["$set": ["n": 2]])
            #expect(try await messages.findOne(["_id": "a"])?["n"]?.int64Value == 2)
            throw Refusal()
        }
    }

    @Test func `a transaction sees its own writes, which are gone when it fails`() async throws {
        try await StoreFixture.with { fixture in
            let messages = collection(fixture)
            await #expect(throws: Refusal.self) { try await refusedTransaction(fixture) }
            let changes = try await fixture.client.query("select 1 from partita.changes")
            #expect(changes.isEmpty)
            #expect(try await messages.countDocuments() == 0)
        }
    }

    @Test func `a transaction's changes are numbered at its commit, each write with its images`() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.store.withTransaction(app: StoreFixture.app) { session in
                let messages = session.collection("ChatMessage", database: "RChat")
                try await messages.insertOne(["_id": "a", "partition": "conversation=1", "n": 1])
                try await messages.updateOne(["_id": "a"], ["$inc": ["n": 1]])
                try await messages.insertOne(["_id": "b", "partition": "conversation=1"])
                try await messages.deleteOne(["_id": "b"])
                try await messages.insertOne(["_id": "c"])
            }
            let changes = try await fixture.changes(in: partition)
            #expect(changes.map(\.operation) == ["insert", "update", "insert", "delete"])
            #expect(changes.map(\.number) == [1, 2, 3, 4])
            let row = try await fixture.client.query(
                "select revision, incarnation, epoch from \(fixture.table) where _id = 's:a'")
            let (revision, incarnation, epoch) = try row[0].decode((Int64, Int64, Int64).self)
            #expect([revision, incarnation, epoch] == [2, 1, 1])
            let hidden = try await fixture.client.query("select partition from \(fixture.table) where _id = 's:c'")
            #expect(try hidden[0].decode(0, as: String.self).hasPrefix("i:RChat.ChatMessage:"))
        }
    }

    @Test func `a hook's writes commit with the documents, and an error it throws rolls them back`() async throws {
        try await StoreFixture.with { fixture in
            let messages = collection(fixture)
            try await fixture.client.execute("create table claims (id text primary key)")
            let claim: CommitHook = { transaction in
                // A process that is stopped here doesn't keep its locks for ever.
                let limit = try await transaction.query("show idle_in_transaction_session_timeout")
                #expect(try limit.first?.decode(0, as: String.self) == "1min")
                try await transaction.execute("insert into claims values ('event-1')")
            }
            try await messages.insertOne(["_id": "a"], beforeCommit: claim)
            await #expect(throws: (any Error).self) {
                try await messages.insertOne(["_id": "b"], beforeCommit: claim)
            }
            #expect(try await messages.find().map { $0["_id"] } == ["a"])
        }
    }

    @Test func `updates from the server's side beat a device that had not seen them`() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.grant(in: partition)
            let base = Revision(epoch: 1, number: 1)
            _ = try await fixture.commit(.of(1, [.insert("a", ["x": 0, "y": 0], in: partition)], in: partition))
            try await collection(fixture).updateOne(["_id": "a"], ["$set": ["x": 5]])
            let result = try await fixture.commit(
                .of(2, [.update("a", ["$set": ["x": 1, "y": 1]], incarnation: base, base: base)], in: partition))
            #expect(result.acknowledgement?.lost == [LostWrite(operation: 0, reason: .overwritten, paths: ["x"])])
        }
    }

    @Test func `concurrent writers of one partition leave no gap`() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.grant(in: partition)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for writer in 0..<6 {
                    group.addTask {
                        for number in 1...10 as ClosedRange<Int64> {
                            let id = "w\(writer)-\(number)"
                            if writer % 2 == 0 {
                                let upload = Upload.of(
                                    number, [.insert(id, in: partition)], device: "d\(writer)", in: partition)
                                _ = try await fixture.commit(upload)
                            } else {
                                try await collection(fixture).insertOne(
                                    ["_id": .string(id), "partition": "conversation=1"])
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await fixture.changes(in: partition).map(\.number) == Array(1...60))
            let revisions = try await fixture.client.query("select revision from \(fixture.table) order by revision")
            #expect(try revisions.map { try $0.decode(0, as: Int64.self) } == Array(1...60))
        }
    }
}

struct AggregationTests {
    @Test func `a pipeline runs over what Postgres finds, and reaches other collections`() async throws {
        try await StoreFixture.with { fixture in
            let messages = fixture.store.collection("ChatMessage", database: "RChat", app: StoreFixture.app)
            let users = fixture.store.collection("User", database: "RChat", app: StoreFixture.app)
            try await users.insertMany([["_id": "ada", "name": "Ada"], ["_id": "bob", "name": "Bob"]])
            try await messages.insertMany(
                (0..<600).map { ["_id": "m\($0)", "author": $0 % 3 == 0 ? "ada" : "bob", "n": .int64(Int64($0))] })
            let result = try await messages.aggregate([
                ["$match": ["n": ["$gte": 300]]], ["$group": ["_id": "$author", "count": ["$sum": 1]]],
                ["$lookup": ["from": "User", "localField": "_id", "foreignField": "_id", "as": "user"]],
                ["$sort": ["_id": 1]],
            ])
            #expect(result.map { $0["_id"] } == ["ada", "bob"])
            #expect(result.map { $0["count"]?.intValue } == [100, 200])
            #expect(result.map { $0["user"]?[0]?["name"] } == ["Ada", "Bob"])
            let refused = await #expect(throws: DocumentStoreError.self) {
                try await messages.aggregate([["$vectorSearch": [:]]])
            }
            #expect(refused?.mongoCode == 115)
        }
    }
}
