import DocumentModel
import DocumentStore
import Postgres
import TestSupport
import Testing

@Suite struct IndexTests {
    private func messages(_ fixture: StoreFixture) -> DocumentCollection {
        fixture.store.collection("ChatMessage", database: "RChat", app: StoreFixture.app)
    }

    @Test func `indexes are made, listed as MongoDB lists them, and dropped`() async throws {
        try await StoreFixture.with { fixture in
            let messages = messages(fixture)
            let names = try await messages.createIndexes([
                IndexModel([.init("author"), .init("sent", .descending)]),
                try IndexModel(["key": ["email": 1], "unique": true, "sparse": true, "name": "mail"]),
                try IndexModel([
                    "key": ["text": "text", "title": "text"], "weights": ["title": 10], "default_language": "german",
                ]),
                try IndexModel([
                    "key": ["seen": 1], "expireAfterSeconds": 3600,
                ]),
                try IndexModel([
                    "key": ["tags.name": 1],
                    "partialFilterExpression": ["state": ["$in": ["open", "new"]], "rank": ["$gt": 5]],
                ]),
            ])
            #expect(names == ["author_1_sent_-1", "mail", "text_text_title_text", "seen_1", "tags.name_1"])
            let listed = try await messages.listIndexes()
            #expect(listed.map { $0["name"] } == (["_id_"] + names).map { .string($0) })
            #expect(listed[2] == ["v": 2, "key": ["email": 1], "name": "mail", "unique": true, "sparse": true])
            #expect(listed[3]["weights"] == ["text": 1, "title": 10])
            #expect(listed[4]["expireAfterSeconds"] == 3600)
            // A second time changes nothing.
            try await messages.createIndexes([IndexModel([.init("author"), .init("sent", .descending)])])
            try await messages.dropIndex("mail")
            #expect(try await messages.indexes().count == 5)
            let error = await #expect(throws: DocumentStoreError.self) { try await messages.dropIndex("mail") }
            #expect(error?.mongoCode == 27)
            try await messages.dropIndex("*")
            #expect(try await messages.indexes().map(\.name) == ["_id_"])
            let left = try await fixture.client.query(
                "select count(*) from pg_indexes where tablename = 'ChatMessage'"
            ).first?.decode(0, as: Int.self)
            // The indexes of the table itself.
            #expect(left == 3)
        }
    }

    @Test func `an index of places is recorded and tells a geoNear its path`() async throws {
        try await StoreFixture.with { fixture in
            let ports = fixture.store.collection("Port", database: "RChat", app: StoreFixture.app)
            try await ports.insertMany([
                ["_id": "b", "at": ["type": "Point", "coordinates": [20, 50]], "other": [0, 0], "size": 2],
                ["_id": "a", "at": ["type": "Point", "coordinates": [10, 50]], "other": [5, 5], "size": 1],
                ["_id": "nowhere"],
            ])
            let stage: Document = [
                "$geoNear": ["near": ["type": "Point", "coordinates": [11, 50]], "distanceField": "d"]
            ]
            func found() async throws -> [String] {
                try await ports.aggregate([stage, ["$match": ["d": ["$gt": 0]]]]).compactMap { $0["_id"]?.stringValue }
            }
            var error = await #expect(throws: DocumentStoreError.self) { try await found() }
            #expect(error?.mongoCode == 27 && error?.message.contains("'key'") == true)

            try await ports.createIndexes([
                IndexModel(["key": ["at": "2dsphere", "size": 1]]), IndexModel(["key": ["size": 1]]),
            ])
            // The same once more changes nothing.
            try await ports.createIndex(IndexModel(["key": ["at": "2dsphere", "size": 1], "2dsphereIndexVersion": 3]))
            #expect(
                try await ports.listIndexes()[1] == [
                    "v": 2, "key": ["at": "2dsphere", "size": 1], "name": "at_2dsphere_size_1",
                    "2dsphereIndexVersion": 3,
                ])
            #expect(try await found() == ["a", "b"])
            let pair: Document = ["$geoNear": ["near": [11, 50], "distanceField": "d", "maxDistance": 0.1]]
            #expect(try await ports.aggregate([pair]).map { $0["_id"] } == ["a"])
            let explained = try await ports.explainAggregate([stage])
            #expect(explained["stages"] == [["stage": "$geoNear", "in": "here"]])
            #expect(try await ports.countDocuments(["size": 2]) == 1)
            let hinted = try await ports.find(
                ["at": ["$geoWithin": ["$centerSphere": [[10, 50], 0.01]]]],
                options: FindOptions(hint: "at_2dsphere_size_1"))
            #expect(hinted.map { $0["_id"] } == ["a"])

            try await ports.createIndex(IndexModel(["key": ["other": "2dsphere"]]))
            error = await #expect(throws: DocumentStoreError.self) { try await found() }
            #expect(error?.mongoCode == 27 && error?.message.contains("more than one") == true)
            try await ports.dropIndex("at_2dsphere_size_1")
            try await ports.dropIndex("other_2dsphere")
            #expect(try await ports.indexes().map(\.name) == ["_id_", "size_1"])
        }
    }

    @Test func `an impossible index is refused with MongoDB's code`() async throws {
        try await StoreFixture.with { fixture in
            let messages = messages(fixture)
            for (specification, code) in [
                (["key": ["place": "2d"]], 115), (["key": ["place": "2dsphere"], "unique": true], 115),
                (["key": ["place": "2dsphere"], "2dsphereIndexVersion": 9], 9), (["key": ["a": 0]], 67),
                (["key": [:]], 9),
                (["key": ["a": 1], "colour": 1], 197), (["key": ["a": 1, "b": 1], "expireAfterSeconds": 5], 67),
                (["key": ["$**": 1]], 115), (["key": ["a": 1], "partialFilterExpression": ["b": ["$ne": 1]]], 67),
                (["key": ["a": 1], "sparse": true, "partialFilterExpression": ["b": 1]], 67),
                (["key": ["a": "hashed"]], 115), (["key": ["a": 1], "unique": "yes"], 14),
                (["key": ["a": 1], "sparse": ["b": 1]], 14), (["key": ["a": 1], "name": 1], 14),
                (["key": ["a": "text"], "default_language": 1], 14),
            ] as [(Document, Int)] {
                let error = #expect(throws: DocumentStoreError.self) { try IndexModel(specification) }
                #expect(error?.mongoCode == code, "\(specification)")
            }
            try await messages.createIndex(IndexModel([.init("a")]))
            for (other, code) in [
                (IndexModel([.init("a")], name: "other"), 85), (IndexModel([.init("b")], name: "a_1"), 86),
            ] {
                let error = await #expect(throws: DocumentStoreError.self) { try await messages.createIndex(other) }
                #expect(error?.mongoCode == code)
            }
        }
    }

    @Test func `an index that fails leaves nothing, and names the duplicate key`() async throws {
        try await StoreFixture.with { fixture in
            let messages = messages(fixture)
            try await messages.insertMany([
                ["_id": "1", "partition": "p", "mail": "a@b"], ["_id": "2", "partition": "p", "mail": "a@b"],
            ])
            let index = try IndexModel(["key": ["mail": 1], "unique": true])
            let error = await #expect(throws: DocumentStoreError.self) { try await messages.createIndex(index) }
            #expect(error?.mongoCode == 11000)
            #expect(try await messages.indexes().count == 1)
            #expect(
                try await fixture.client.query("select count(*) from pg_indexes where tablename = 'ChatMessage'").first?
                    .decode(0, as: Int.self) == 3)
            try await messages.deleteOne(["_id": "2"])
            try await messages.createIndex(index)
        }
    }

    @Test func `an index whose caller leaves isn't made`() async throws {
        try await StoreFixture.with { fixture in
            let messages = messages(fixture)
            try await fixture.client.withConnection { other in
                // A concurrent build waits for transactions that have written to the table.
                try await other.runScript("begin; lock table \(fixture.table) in row exclusive mode")
                let making = Task { try await messages.createIndex(IndexModel([.init("author")])) }
                try await eventually("the build waits") {
                    try await fixture.client.query(
                        "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
                    ).count == 1
                }
                let start = ContinuousClock.now
                making.cancel()
                // What it leaves is dropped, which waits for the same transaction.
                try await Task.sleep(for: .milliseconds(500))
                try await other.runScript("rollback")
                await #expect(throws: CancellationError.self) { try await making.value }
                #expect(ContinuousClock.now - start < .seconds(10))
            }
            #expect(try await messages.indexes().map(\.name) == ["_id_"])
            let left = try await fixture.client.query("select count(*) from partita.indexes").decode(Int64.self)
            #expect(left == [0])
            #expect(try await messages.createIndex(IndexModel([.init("author")])) == "author_1")
        }
    }

    @Test func `two concurrent creations of the same index make one`() async throws {
        try await StoreFixture.with(connections: 8) { fixture in
            let messages = messages(fixture)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<3 {
                    group.addTask {
                        try await messages.createIndexes([IndexModel([.init("a")]), IndexModel([.init("b")])])
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await messages.indexes().map(\.name) == ["_id_", "a_1", "b_1"])
        }
    }
}

@Suite struct UniqueIndexTests {
    private func users(_ fixture: StoreFixture) async throws -> DocumentCollection {
        let users = fixture.store.collection("User", database: "RChat", app: StoreFixture.app)
        try await users.createIndex(IndexModel(["key": ["mail": 1, "team": 1], "unique": true]))
        try await users.insertOne(["_id": "1", "partition": "p", "mail": "a@b", "team": 7])
        return users
    }

    private func expectDuplicate(_ error: DocumentStoreError?) {
        #expect(error?.mongoCode == 11000)
        #expect(
            error?.message
                == "E11000 duplicate key error collection: RChat.User index: mail_1_team_1 dup key: { mail: \"a@b\", team: 7 }"
        )
        #expect(error?.details == ["keyPattern": ["mail": 1, "team": 1], "keyValue": ["mail": "a@b", "team": 7]])
    }

    @Test func `a duplicate is refused in MongoDB's words for every writer`() async throws {
        try await StoreFixture.with { fixture in
            let users = try await users(fixture)
            expectDuplicate(
                await #expect(throws: DocumentStoreError.self) {
                    try await users.insertOne(["_id": "2", "partition": "p", "mail": "a@b", "team": 7.0])
                })
            try await users.insertOne(["_id": "3", "partition": "q", "mail": "a@b", "team": 8])
            expectDuplicate(
                await #expect(throws: DocumentStoreError.self) {
                    try await users.updateOne(["_id": "3"], ["$inc": ["team": -1]])
                })
            expectDuplicate(
                await #expect(throws: DocumentStoreError.self) {
                    try await fixture.store.withTransaction(app: StoreFixture.app) { session in
                        try await session.collection("User", database: "RChat")
                            .insertOne(["_id": "4", "partition": "p", "mail": "a@b", "team": 7])
                    }
                })
            #expect(try await users.countDocuments() == 2)
        }
    }

    @Test func `an index over duplicates is refused in the same words`() async throws {
        try await StoreFixture.with { fixture in
            let users = fixture.store.collection("User", database: "RChat", app: StoreFixture.app)
            try await users.insertMany([
                ["_id": "1", "partition": "p", "mail": "a@b", "team": 7],
                ["_id": "2", "partition": "p", "mail": "a@b", "team": 7],
            ])
            expectDuplicate(
                await #expect(throws: DocumentStoreError.self) {
                    try await users.createIndex(IndexModel(["key": ["mail": 1, "team": 1], "unique": true]))
                })
            #expect(try await users.indexes().map(\.name) == ["_id_"])
        }
    }

    @Test func `of many writes those that no index refuses are applied`() async throws {
        try await StoreFixture.with { fixture in
            let users = try await users(fixture)
            let documents: [Document] = [
                ["_id": "2", "partition": "p", "mail": "c@d", "team": 1],
                ["_id": "3", "partition": "p", "mail": "a@b", "team": 7],
                ["_id": "4", "partition": "p", "mail": "e@f", "team": 1],
            ]
            let unordered = await #expect(throws: BulkWriteError.self) {
                try await users.insertMany(documents, ordered: false)
            }
            #expect(unordered?.result.insertedIds == [0: "2", 2: "4"])
            expectDuplicate(unordered?.failures[1])
            try await users.deleteMany(["_id": ["$in": ["2", "4"]]])
            let ordered = await #expect(throws: BulkWriteError.self) {
                try await users.bulkWrite([
                    .insertOne(documents[0]),
                    .updateOne(filter: ["_id": "2"], update: ["$set": ["mail": "a@b", "team": 7]]),
                    .insertOne(documents[2]),
                ])
            }
            #expect(ordered?.result.insertedCount == 1)
            #expect(ordered?.failures.keys.sorted() == [1])
            #expect(try await users.find(["_id": "2"]).first?["mail"] == "c@d")
            #expect(try await users.countDocuments() == 2)
        }
    }

    @Test func `two concurrent upserts of one filter make one document`() async throws {
        try await StoreFixture.with(connections: 8) { fixture in
            let users = try await users(fixture)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<8 {
                    group.addTask {
                        try await users.updateOne(
                            ["mail": "new", "team": 1],
                            ["$inc": ["count": 1], "$set": ["partition": "p", "last": .int32(Int32(number))]],
                            options: UpdateOptions(upsert: true))
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await users.find(["mail": "new"]).map { $0["count"] } == [8])
        }
    }

    @Test func `numbers that a double can't represent are unique as well`() async throws {
        try await StoreFixture.with { fixture in
            let users = fixture.store.collection("User", database: "RChat", app: StoreFixture.app)
            try await users.createIndex(IndexModel(["key": ["price": 1], "unique": true]))
            func insert(_ price: String) async throws {
                try await users.insertOne([
                    "_id": .string(price), "price": .decimal128(try #require(Decimal128(price))),
                ])
            }
            for price in ["0.1", "0.2", "0.1000000000000000000000000000000001", "3"] { try await insert(price) }
            for price in ["0.10", "0.2000", "3.0"] {
                let error = await #expect(throws: DocumentStoreError.self) { try await insert(price) }
                #expect(error?.mongoCode == 11000, "\(price)")
            }
        }
    }

    @Test func `numbers next to zero, for which there is no double, are in an index`() async throws {
        try await StoreFixture.with { fixture in
            let collection = fixture.store.collection("ChatMessage", database: "RChat", app: StoreFixture.app)
            func insert(_ texts: [String]) async throws {
                try await collection.insertMany(
                    try texts.map {
                        ["_id": .string($0), "partition": "p", "d": .decimal128(try #require(Decimal128($0)))]
                    })
            }
            try await insert(["1E-400", "-1E-6176"])
            try await collection.createIndex(IndexModel([.init("d")]))
            try await insert(["3E-324", "2E-324", "-3E-324", "0", "1", "-1"])
            let sorted = try await collection.find([:], options: FindOptions(sort: ["d": 1]))
            #expect(
                sorted.compactMap { $0["_id"]?.stringValue }
                    == ["-1", "-3E-324", "-1E-6176", "0", "1E-400", "2E-324", "3E-324", "1"])
            let tiny: Document = ["d": .decimal128(try #require(Decimal128("1E-400")))]
            #expect(try await collection.find(tiny).map { $0["_id"] } == ["1E-400"])
            let positive = try await collection.find(["d": ["$gt": 0, "$lt": 1]])
            #expect(positive.count == 3)
        }
    }

    @Test func `an array under a unique index is refused by name`() async throws {
        try await StoreFixture.with { fixture in
            let users = try await users(fixture)
            let error = await #expect(throws: DocumentStoreError.self) {
                try await users.insertOne(["_id": "5", "partition": "p", "mail": ["a", "b"]])
            }
            #expect(error?.mongoCode == 115)
            #expect(error?.message.contains("mail") == true)
        }
    }
}
