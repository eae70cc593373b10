import DocumentModel
import DocumentStore
import Postgres
import SyncEngine
import Testing

/// Without a sort documents come in the order in which they were inserted.
@Suite struct NaturalOrderTests {
    private func messages(_ fixture: StoreFixture) -> DocumentCollection {
        fixture.store.collection("ChatMessage", database: "RChat", app: StoreFixture.app)
    }

    private func ids(_ documents: [Document]) -> [String] { documents.map { $0["_id"]?.stringValue ?? "none" } }

    /// Names whose order is not that of the numbers.
    private func name(_ number: Int) -> String { "\((number * 7919) % 10_007)-\(number)" }

    private func document(_ number: Int) -> Document {
        [
            "_id": .string(name(number)), "partition": .string("p\(number % 3)"), "n": .int32(Int32(number)),
            "state": .string(number % 2 == 0 ? "even" : "odd"), "text": .string(String(repeating: "x", count: 300)),
        ]
    }

    @Test func `reads, pages, pipelines and first matches keep the order of inserts, whatever is updated`() async throws
    {
        try await StoreFixture.with { fixture in
            let collection = messages(fixture)
            try await collection.insertMany((0..<600).map(document))
            try await collection.createIndexes([IndexModel([.init("state")])])
            // Every write moves a row in its table.
            try await collection.updateMany(["n": ["$lt": 300]], ["$set": ["seen": true]])
            try await collection.updateOne(["n": 5], ["$set": ["seen": 5]])
            _ = try await collection.replaceOne(["n": 7], ["partition": "p1", "n": 7, "state": "odd"])
            let all = (0..<600).map(name)
            #expect(ids(try await collection.find()) == all)
            #expect(ids(try await collection.find(options: FindOptions(sort: ["$natural": -1]))) == all.reversed())
            #expect(
                ids(try await collection.find(options: FindOptions(limit: 3, hint: ["$natural": -1])))
                    == all.suffix(3).reversed())
            #expect(ids(try await collection.aggregate([["$match": [:]]])) == all)
            for filter in [
                [:], ["state": "odd"], ["partition": "p2"], ["n": ["$gte": 100]],
                ["$or": [["state": "odd"], ["n": 4]]],
                ["_id": ["$in": .array((50..<90).map { .string(name($0)) })]],
            ] as [Document] {
                let whole = ids(try await collection.find(filter))
                let places = whole.compactMap { all.firstIndex(of: $0) }
                #expect(places == places.sorted() && places.count == whole.count, "\(filter)")
                var paged: [String] = []
                while true {
                    let page = try await collection.find(filter, options: FindOptions(skip: paged.count, limit: 37))
                    if page.isEmpty { break }
                    paged += ids(page)
                    // Writes between two pages move nothing.
                    try await collection.updateOne(["n": .int32(Int32(paged.count))], ["$inc": ["count": 1]])
                }
                #expect(paged == whole, "\(filter)")
                #expect(try await collection.findOne(filter)?["_id"]?.stringValue == whole.first, "\(filter)")
            }
            let grouped = try await collection.aggregate([
                ["$group": ["_id": "$state", "first": ["$first": "$n"], "all": ["$push": "$n"]]], ["$sort": ["_id": 1]],
            ])
            #expect(grouped.map { $0["first"] } == [0, 1])
            #expect(grouped[1]["all"]?.arrayValue?.prefix(3) == [1, 3, 5])
            #expect(try await collection.updateOne(["state": "odd"], ["$set": ["met": true]]).matchedCount == 1)
            #expect(try await collection.findOne(["met": true])?["n"] == 1)
            // Not a filter that Postgres alone evaluates.
            _ = try await collection.updateOne(["n": ["$mod": [10, 3]]], ["$set": ["met": "mod"]])
            #expect(try await collection.findOne(["met": "mod"])?["n"] == 3)
            #expect(try await collection.findOneAndDelete(["state": "even"])?["n"] == 0)
            #expect(try await collection.deleteOne(["partition": "p1"]) == 1)
            #expect(try await collection.findOne(["partition": "p1"])?["n"] == 4)
            let last = FindAndModifyOptions(sort: ["$natural": -1])
            #expect(try await collection.findOneAndUpdate([:], ["$set": ["met": 9]], options: last)?["n"] == 599)
        }
    }

    @Test func `pages of many matches of an index come from the natural order, and so do those of few`() async throws {
        try await StoreFixture.with { fixture in
            let collection = messages(fixture)
            try await collection.createIndex(IndexModel([.init("state")]))
            try await collection.insertMany((0..<5000).map(document))
            try await fixture.client.execute("analyze \(fixture.table)")
            let odd = (0..<5000).filter { $0 % 2 == 1 }.map(name)
            for skip in [0, 17, 900, 2400] {
                let page = try await collection.find(["state": "odd"], options: FindOptions(skip: skip, limit: 20))
                #expect(ids(page) == Array(odd.dropFirst(skip).prefix(20)))
            }
            #expect(try await collection.findOne(["state": "none"]) == nil)
            let plan = ExtendedJSON.print(
                .document(try await collection.explain(options: FindOptions(limit: 10))), mode: .relaxed)
            #expect(plan.contains("natural_order_idx"), "\(plan)")
        }
    }

    @Test func `a range of ids comes in the order of ids, as from the index`() async throws {
        try await StoreFixture.with { fixture in
            let collection = messages(fixture)
            try await collection.insertMany(["c", "a", "d", "b"].map { ["_id": .string($0), "partition": "p"] })
            #expect(ids(try await collection.find(["_id": ["$gt": "a"]])) == ["b", "c", "d"])
            #expect(
                ids(try await collection.find(["_id": ["$gt": "a"]], options: FindOptions(hint: "$natural")))
                    == ["c", "d", "b"])
        }
    }

    @Test func `the order is that of the inserts for every writer`() async throws {
        try await StoreFixture.with { fixture in
            let partition = Partition.conversation("1")
            try await fixture.grant(in: partition)
            let collection = messages(fixture)
            try await collection.insertOne(["_id": "z", "partition": "conversation=1"])
            try await fixture.client.execute(
                "insert into \(fixture.table) (document) values ($1)",
                [.text(#"{"_id": "y", "partition": "conversation=1"}"#)])
            _ = try await fixture.commit(
                .of(1, [.insert("x", in: partition), .insert("w", in: partition)], in: partition))
            try await fixture.store.withTransaction(app: StoreFixture.app) { session in
                let inside = session.collection("ChatMessage", database: "RChat")
                try await inside.insertOne(["_id": "v", "partition": "conversation=1"])
                try await inside.insertOne(["_id": "u", "partition": "conversation=1"])
            }
            _ = try await collection.load([["_id": "t", "partition": "conversation=1"], ["_id": "s"]])
            try await collection.updateOne(["_id": "nobody"], ["$set": ["a": 1]], options: UpdateOptions(upsert: true))
            #expect(ids(try await collection.find()) == ["z", "y", "x", "w", "v", "u", "t", "s", "nobody"])
            let error = await #expect(throws: PostgresError.self) {
                try await fixture.client.execute("update \(fixture.table) set natural_order = 1")
            }
            #expect(error?.sqlstate == "428C9")
        }
    }

    @Test func `a wrong use of natural order is refused`() async throws {
        try await StoreFixture.with { fixture in
            let collection = messages(fixture)
            for sort in [["$natural": 2], ["$natural": 1, "a": 1], ["a": 1, "$natural": -1]] as [Document] {
                let error = await #expect(throws: DocumentStoreError.self) {
                    try await collection.find(options: FindOptions(sort: sort))
                }
                #expect(error?.mongoCode == 2, "\(sort)")
            }
        }
    }
}
