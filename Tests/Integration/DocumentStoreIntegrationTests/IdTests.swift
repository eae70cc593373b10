import DocumentModel
import DocumentStore
import Postgres
import QueryLanguage
import SyncEngine
import Testing

/// `_id`s of all types.
struct IdTests {
    /// In MongoDB's order.
    private static let ordered: [Value] = [
        .minKey, .null, .double(-.infinity), -7, 0.5, 2, .int64(1 << 60), "a", "b", ["day": .date(0), "room": "x"],
        ["day": .date(1), "room": "x"], .binary(Binary([1])), .objectId(ObjectId(high: 1, low: 0)), false, true,
        .date(-1), .date(5), .timestamp(Timestamp(seconds: 1, increment: 1)), .maxKey,
    ]

    @Test func `documents are found and sorted by ids of all types`() async throws {
        try await StoreFixture.with { fixture in
            let collection = fixture.store.collection("Any", database: "Reports", app: StoreFixture.app)
            try await collection.insertMany(
                Self.ordered.enumerated().shuffled().map { ["_id": $1, "place": .integer($0)] })
            for (place, id) in Self.ordered.enumerated() {
                let found = try await collection.find(["_id": id])
                #expect(
                    found.count == 1 && found[0]["place"]?.intValue == place && found[0].id?.isIdentical(to: id) == true
                )
            }
            let found = try await collection.find(["_id": ["$in": [.null, 0.5, ["day": .date(1), "room": "x"]]]])
            #expect(Set(found.compactMap { $0["place"]?.intValue }) == [1, 4, 10])

            var options = FindOptions()
            options.sort = ["_id": 1]
            #expect(try await collection.find(options: options).compactMap(\.id) == Self.ordered)
            options.sort = ["_id": -1]
            (options.skip, options.limit) = (2, 5)
            #expect(
                try await collection.find(options: options).compactMap(\.id)
                    == Array(Self.ordered.reversed()[2..<7]))
            let dates = try await collection.find(["_id": ["$gt": .date(-2)]])
            #expect(Set(dates.compactMap(\.id)) == [.date(-1), .date(5)])
            var first = FindAndModifyOptions()
            first.sort = ["_id": 1]
            let changed = try await collection.findOneAndUpdate([:], ["$set": ["first": true]], options: first)
            #expect(changed?.id == .minKey)
        }
    }

    @Test(
        arguments: [
            (0.5, .decimal128(Decimal128("0.50") ?? .nan)), (2, 2.0), (["a": 1], ["a": .int64(1)]), (.null, .null),
        ] as [(Value, Value)])
    func `ids that are equal across types are the same`(id: Value, equal: Value) async throws {
        try await StoreFixture.with { fixture in
            let collection = fixture.store.collection("Any", database: "Reports", app: StoreFixture.app)
            try await collection.insertOne(["_id": id])
            let error = await #expect(throws: DocumentStoreError.self) {
                try await collection.insertOne(["_id": equal])
            }
            #expect(error?.mongoCode == 11000)
            #expect(try await collection.countDocuments(["_id": equal]) == 1)
        }
    }

    @Test func `the results of groups can be stored`() async throws {
        try await StoreFixture.with { fixture in
            let source = fixture.store.collection("Sales", database: "Reports", app: StoreFixture.app)
            try await source.insertMany(
                (0..<6).map { ["_id": .integer($0), "shop": .integer($0 % 2), "at": .date(0), "n": 1] })
            for _ in 0..<2 {
                _ = try await source.aggregate([
                    ["$group": ["_id": ["shop": "$shop", "day": "$at"], "n": ["$sum": "$n"]]],
                    ["$merge": ["into": "Days"]],
                ])
            }
            _ = try await source.aggregate([["$group": ["_id": .null, "n": ["$sum": "$n"]]], ["$out": "Total"]])
            let days = fixture.store.collection("Days", database: "Reports", app: StoreFixture.app)
            var options = FindOptions()
            options.sort = ["_id": 1]
            #expect(
                try await days.find(options: options) == [
                    ["_id": ["shop": 0, "day": .date(0)], "n": 3], ["_id": ["shop": 1, "day": .date(0)], "n": 3],
                ])
            let total = fixture.store.collection("Total", database: "Reports", app: StoreFixture.app)
            #expect(try await total.findOne(["_id": .null]) == ["_id": .null, "n": 6])
        }
    }

    @Test(
        arguments: [
            ([1], 53), (.regex(RegularExpression("a")), 53), (.undefined, 53), (["$a": 1], 52),
            (.string(String(repeating: "x", count: 1025)), 2),
        ] as [(Value, Int)])
    func `a value that can't be an id is refused`(id: Value, code: Int) async throws {
        try await StoreFixture.with { fixture in
            let collection = fixture.store.collection("Any", database: "Reports", app: StoreFixture.app)
            let error = await #expect(throws: DocumentStoreError.self) { try await collection.insertOne(["_id": id]) }
            #expect(error?.code == .badId && error?.mongoCode == code)
        }
    }

    @Test func `an external writer can change and delete such documents, but not insert them`() async throws {
        try await StoreFixture.with { fixture in
            let messages = fixture.store.collection("ChatMessage", database: "RChat", app: StoreFixture.app)
            try await messages.insertOne(["_id": ["a": .date(1)], "partition": "conversation=1", "n": 1])
            try await fixture.client.execute(
                "update \(fixture.table) set document = document || '{\"n\": 2}'")
            #expect(try await messages.findOne(["_id": ["a": .date(1)]])?["n"] == 2)
            await #expect(throws: PostgresError.self) {
                try await fixture.client.execute(
                    "update \(fixture.table) set document = document || '{\"_id\": {\"a\": 5}}'")
            }
            await #expect(throws: PostgresError.self) {
                try await fixture.client.execute(
                    "insert into \(fixture.table) (document) values ('{\"_id\": {\"a\": 5}, \"partition\": \"conversation=1\"}')"
                )
            }
            try await fixture.client.execute("delete from \(fixture.table)")
            let changes = try await fixture.changes(in: Partition.conversation("1"))
            #expect(changes.map(\.operation) == ["insert", "update", "delete"])
        }
    }

    @Test func `a range finds ids of its type, whatever their texts are`() async throws {
        try await StoreFixture.with { fixture in
            let collection = fixture.store.collection("ChatMessage", database: "RChat", app: StoreFixture.app)
            let uuids = (0..<3).map { Value.binary(Binary([UInt8](repeating: $0 * 80, count: 16), subtype: 4)) }
            let ids: [Value] =
                uuids + [
                    .binary(Binary([1, 2, 3], subtype: 0)),
                    .binary(Binary([UInt8](repeating: 0, count: 20), subtype: 0)),
                    .binary(Binary([UInt8](repeating: 80, count: 16), subtype: 5)), .date(999), .date(1000), .date(-5),
                    .date(-40), "a", "b", 5, 10, 2.5, .bool(true), .bool(false),
                ]
            let documents: [Document] = ids.map { ["_id": $0, "partition": "p"] }
            try await collection.insertMany(documents)
            for bound in ids + [.minKey, .maxKey] {
                for comparison in ["$gt", "$gte", "$lt", "$lte"] {
                    let document: Document = ["_id": .document([comparison: bound])]
                    let filter = try Filter(document)
                    let expected = documents.filter { filter.matches($0, now: 0) }.compactMap { $0["_id"]?.idText }
                    let found = try await collection.find(document).compactMap { $0["_id"]?.idText }
                    #expect(found.sorted() == expected.sorted(), "\(document)")
                    let ordered = try await collection.find(document, options: FindOptions(sort: ["_id": 1]))
                    #expect(found == ordered.compactMap { $0["_id"]?.idText }, "\(document)")
                    let page = try await collection.find(document, options: FindOptions(skip: 1, limit: 3))
                    #expect(page.compactMap { $0["_id"]?.idText } == Array(found.dropFirst().prefix(3)), "\(document)")
                    #expect(try await collection.countDocuments(document) == expected.count, "\(document)")
                }
            }
        }
    }
}
