import DocumentModel
import DocumentStore
import FunctionProtocol
import Functions
import TestSupport
import Testing

@Suite struct RuledAccessTests {
    private static let notes: [Document] = [
        ["_id": 1, "owner": "ann", "text": "a", "n": 3, "secret": "x"],
        ["_id": 2, "owner": "ann", "text": "b", "n": 1, "shared": true, "secret": "y"],
        ["_id": 3, "owner": "bob", "text": "c", "n": 2, "shared": true, "secret": "z"],
        ["_id": 4, "owner": "bob", "text": "d", "n": 4],
        ["_id": 5, "owner": "ann", "text": "old", "n": 5, "archived": true],
    ]

    private func withNotes(_ body: @Sendable (RuledFixture) async throws -> Void) async throws {
        try await RuledFixture.with { fixture in
            try await fixture.collection("Note").insertMany(Self.notes)
            try await body(fixture)
        }
    }

    // MARK: Reading

    @Test func `a user finds what the roles let them see, cut to what they may read`() async throws {
        try await withNotes { fixture in
            let found = try await fixture.call("ann", "find", "Note", ["sort": ["_id": 1]])
            #expect(
                found == [
                    .document(Self.notes[0]), .document(Self.notes[1]), ["_id": 3, "text": "c", "n": 2],
                ])
            #expect(try await fixture.call("ann", "find", "Note", ["query": ["owner": "bob"]]) == [])
            #expect(try await fixture.call("ann", "findOne", "Note", ["filter": ["_id": 4]]) == .null)
            #expect(try await fixture.call("ann", "count", "Note", [:]) == .int64(3))
            #expect(try await fixture.call("ann", "distinct", "Note", ["field": "secret"]) == ["x", "y"])
        }
    }

    @Test func `documents that a filter shows for a time are found in that time, by a search too`() async throws {
        try await RuledFixture.with { fixture in
            // Half a century ago, and in two.
            try await fixture.collection("Offer").insertMany([
                ["_id": 1, "text": "fresh bread", "until": .date(1_000)],
                ["_id": 2, "text": "fresh milk", "until": .date(7_258_118_400_000)],
            ])
            let search: Document = ["$search": ["text": ["query": "fresh", "path": "text"]]]
            for (action, arguments) in [
                ("find", [:]), ("aggregate", ["pipeline": [["$match": ["text": ["$exists": true]]]]]),
                ("aggregate", ["pipeline": [.document(search)]]),
            ] as [(String, Document)] {
                let found = try await fixture.call("ann", action, "Offer", arguments)
                #expect(found.arrayValue?.map { $0["_id"] } == [2], "\(action): \(arguments)")
            }
        }
    }

    @Test func `a geoNear without a path takes that of the index, and finds only places that may be read`() async throws
    {
        try await RuledFixture.with { fixture in
            let notes = fixture.collection("Note")
            try await notes.insertMany([
                ["_id": 1, "owner": "ann", "place": [20, 50]], ["_id": 2, "owner": "ann", "place": [10, 50]],
                ["_id": 3, "owner": "bob", "place": [11, 50]],
                ["_id": 4, "owner": "bob", "shared": true, "place": [11, 50]],
            ])
            let near: Value = [["$geoNear": ["near": [11, 50], "distanceField": "d"]], ["$project": ["_id": 1]]]
            #expect(await fixture.refusal("ann", "aggregate", "Note", ["pipeline": near]) == "MongoDBError")
            try await notes.createIndex(IndexModel(["key": ["place": "2dsphere"]]))
            #expect(try await fixture.call("ann", "aggregate", "Note", ["pipeline": near]) == [["_id": 2], ["_id": 1]])
        }
    }

    @Test func `order, skip and limit apply to what the user may see`() async throws {
        try await withNotes { fixture in
            let found = try await fixture.call(
                "ann", "find", "Note",
                ["sort": ["n": -1], "skip": 1, "limit": 1, "projection": ["_id": 0, "text": 1]])
            #expect(found == [["text": "c"]])
            // What is hidden orders nothing.
            let bySecret = try await fixture.call(
                "cyd", "find", "Note", ["sort": ["secret": -1, "_id": 1], "projection": ["_id": 1]])
            #expect(bySecret == [["_id": 2], ["_id": 3]])
        }
    }

    @Test func `an aggregation sees no more than a find`() async throws {
        try await withNotes { fixture in
            let sum = try await fixture.call(
                "ann", "aggregate", "Note",
                ["pipeline": [["$group": ["_id": .null, "n": ["$sum": "$n"], "secrets": ["$push": "$secret"]]]]])
            #expect(sum[0]?["n"]?.intValue == 6)
            #expect(sum[0]?["secrets"]?.arrayCount == 2)
            let matched = try await fixture.call(
                "ann", "aggregate", "Note", ["pipeline": [["$match": ["n": ["$gt": 1]]], ["$count": "notes"]]])
            #expect(matched == [["notes": 2]])
        }
    }

    @Test func `joins read other collections under their rules`() async throws {
        try await withNotes { fixture in
            try await fixture.collection("Person").insertMany([
                ["_id": "ann", "name": "Ann", "salary": 1], ["_id": "bob", "name": "Bob", "salary": 2],
            ])
            let lookup: Document = [
                "pipeline": [
                    ["$lookup": ["from": "Note", "localField": "_id", "foreignField": "owner", "as": "notes"]],
                    ["$sort": ["_id": 1]],
                ]
            ]
            let joined = try await fixture.call("ann", "aggregate", "Person", lookup)
            #expect(joined[0]?["salary"] == 1)
            #expect(joined[0]?["notes"]?.arrayCount == 2)
            #expect(joined[1]?["salary"] == nil)
            // The owner of the notes can't be read, so it can't be used to find them.
            #expect(joined[1]?["notes"]?.arrayCount == 0)
            let union = try await fixture.call(
                "ann", "aggregate", "Person", ["pipeline": [["$unionWith": "Note"], ["$count": "all"]]])
            #expect(union == [["all": 5]])
            #expect(
                await fixture.refusal("ann", "aggregate", "Person", ["pipeline": [["$unionWith": "Room"]]])
                    == "NoMatchingRuleFound")
            for stage: Document in [["$out": "Copy"], ["$merge": ["into": "Copy"]]] {
                #expect(
                    await fixture.refusal("ann", "aggregate", "Person", ["pipeline": [.document(stage)]])
                        == "NoMatchingRuleFound")
            }
        }
    }

    @Test func `a hidden field can't be found out by queries`() async throws {
        try await RuledFixture.with { fixture in
            try await fixture.collection("Person").insertOne(["_id": "bob", "name": "Bob", "salary": 100])
            for filter: Document in [
                ["salary": 100], ["salary": ["$gt": 1]], ["salary": ["$ne": 1]], ["$expr": ["$eq": ["$salary", 100]]],
            ] {
                #expect(try await fixture.call("ann", "count", "Person", ["filter": .document(filter)]) == .int64(0))
            }
            #expect(try await fixture.call("bob", "count", "Person", ["filter": ["salary": 100]]) == .int64(1))
        }
    }

    @Test func `a collection without rules is closed`() async throws {
        try await RuledFixture.with { fixture in
            #expect(await fixture.refusal("ann", "find", "Room", [:]) == "NoMatchingRuleFound")
            #expect(await fixture.refusal("ann", "insertOne", "Room", ["document": [:]]) == "NoMatchingRuleFound")
        }
    }

    // MARK: Writing

    @Test func `a user writes what the rules allow`() async throws {
        try await withNotes { fixture in
            let own: Document = ["document": ["_id": 9, "owner": "ann", "n": .int32(1)]]
            #expect(try await fixture.call("ann", "insertOne", "Note", own) == ["insertedId": 9])
            let updated = try await fixture.call(
                "ann", "updateOne", "Note", ["query": ["_id": 1], "update": ["$set": ["text": "new"]]])
            #expect(updated == ["matchedCount": .int32(1), "modifiedCount": .int32(1)])
            let many = try await fixture.call(
                "ann", "updateMany", "Note", ["filter": ["owner": "ann"], "update": ["$inc": ["n": .int32(1)]]])
            #expect(many["modifiedCount"]?.intValue == 3)
            let taken = try await fixture.call(
                "ann", "findOneAndUpdate", "Note",
                [
                    "filter": ["_id": 1], "update": ["$set": ["text": "z"]], "returnNewDocument": true,
                    "projection": ["text": 1],
                ])
            #expect(taken == ["_id": 1, "text": "z"])
            #expect(
                try await fixture.call("ann", "deleteOne", "Note", ["query": ["_id": 1]]) == ["deletedCount": .int32(1)]
            )
        }
    }

    @Test func `a write that is refused for one document leaves nothing`() async throws {
        try await withNotes { fixture in
            let calls: [(String, Document)] = [
                ("insertOne", ["document": ["owner": "bob"]]),
                ("insertMany", ["documents": [["owner": "ann"], ["owner": "bob"]]]),
                ("updateMany", ["filter": [:], "update": ["$set": ["text": "mine"]]]),
                ("updateOne", ["filter": ["_id": 3], "update": ["$set": ["owner": "ann"]]]),
                ("updateOne", ["filter": ["_id": 1], "update": ["$set": ["owner": "bob"]]]),
                ("updateOne", ["filter": ["_id": 77], "update": ["$set": ["owner": "bob"]], "upsert": true]),
                ("replaceOne", ["filter": ["_id": 3], "replacement": ["owner": "ann"]]),
                ("findOneAndReplace", ["filter": ["_id": 3], "update": ["owner": "ann"]]),
                ("findOneAndDelete", ["filter": ["_id": 3]]), ("deleteOne", ["filter": ["_id": 3]]),
                ("deleteMany", ["filter": [:]]),
                (
                    "bulkWrite",
                    [
                        "operations": [
                            ["insertOne": ["document": ["owner": "ann"]]], ["deleteOne": ["filter": ["_id": 3]]],
                        ]
                    ]
                ),
            ]
            for (action, arguments) in calls {
                #expect(await fixture.refusal("ann", action, "Note", arguments) == "NoMatchingRuleFound", "\(action)")
            }
            let left = try await fixture.collection("Note").find([:], options: .init(sort: ["_id": 1]))
            #expect(left == Self.notes)
        }
    }

    @Test func `a document against the schema is refused by name`() async throws {
        try await withNotes { fixture in
            #expect(
                await fixture.refusal("ann", "insertOne", "Note", ["document": ["owner": "ann", "n": "text"]])
                    == "SchemaValidationFailedWrite")
        }
    }

    @Test func `filters protect what they hide from a write`() async throws {
        try await withNotes { fixture in
            let result = try await fixture.call(
                "ann", "updateMany", "Note", ["filter": ["owner": "ann"], "update": ["$set": ["text": "t"]]])
            #expect(result["matchedCount"]?.intValue == 2)
            #expect(try await fixture.call("ann", "deleteOne", "Note", ["filter": ["_id": 5]])["deletedCount"] == 0)
        }
    }

    @Test func `who may not write a document isn't told that its id is taken`() async throws {
        try await withNotes { fixture in
            let stored = try await fixture.collection("Note").find().compactMap { $0["_id"] }
            func outcome(_ action: String, _ arguments: Document) async -> String {
                do {
                    return "\(try await fixture.call("ann", action, "Note", arguments))"
                } catch {
                    return "\(EffectFailure(error))"
                }
            }
            for id in stored {
                func answers(_ id: Value) async -> [String] {
                    let document: Document = ["_id": id, "owner": "nobody"]
                    return [
                        await outcome("insertOne", ["document": .document(document)]),
                        await outcome("insertMany", ["documents": [.document(document)], "ordered": false]),
                        await outcome(
                            "updateOne",
                            ["filter": ["_id": id, "x": 1], "update": ["$set": ["owner": "nobody"]], "upsert": true]),
                    ]
                }
                let taken = await answers(id), free = await answers(.string("free"))
                #expect(taken == free)
                #expect(!taken.contains { $0.contains("E11000") })
            }
        }
    }

    @Test func `who may not write a document isn't told what a unique index has`() async throws {
        try await withNotes { fixture in
            try await fixture.collection("Note").createIndex(IndexModel([.init("text")], name: "texts", unique: true))
            func answers(id: Value, text: Value) async -> [String] {
                let document: Document = ["_id": id, "owner": "nobody", "text": text]
                let calls: [(String, Document)] = [
                    ("insertOne", ["document": .document(document)]),
                    ("insertMany", ["documents": [.document(document)]]),
                    ("insertMany", ["documents": [.document(document)], "ordered": false]),
                    ("bulkWrite", ["operations": [["insertOne": ["document": .document(document)]]]]),
                    // Shared with the user, and not theirs.
                    ("updateOne", ["filter": ["_id": 3], "update": ["$set": ["text": text]]]),
                    (
                        "bulkWrite",
                        ["operations": [["updateOne": ["filter": ["_id": 3], "update": ["$set": ["text": text]]]]]]
                    ),
                ]
                var answers: [String] = []
                for (action, arguments) in calls {
                    do {
                        answers.append("\(try await fixture.call("ann", action, "Note", arguments))")
                    } catch {
                        answers.append("\(EffectFailure(error))")
                    }
                }
                return answers
            }
            let free = await answers(id: "free", text: "free")
            #expect(await answers(id: 1, text: "free") == free)
            #expect(await answers(id: "free", text: "d") == free)
            #expect(free.allSatisfy { $0.contains("NoMatchingRuleFound") || $0.contains("not permitted") }, "\(free)")
        }
    }

    @Test func `who may not write a document isn't told how large it is`() async throws {
        try await withNotes { fixture in
            // Shared with the user, and not theirs.
            let large = String(repeating: "x", count: 15 << 20)
            try await fixture.collection("Note").updateOne(["_id": 3], .document(["$set": ["hidden": .string(large)]]))
            for size in [10, 2 << 20] {
                let text = Value.string(String(repeating: "y", count: size))
                #expect(
                    await fixture.refusal(
                        "ann", "updateOne", "Note", ["filter": ["_id": 3], "update": ["$set": ["text": text]]])
                        == "NoMatchingRuleFound")
            }
        }
    }

    @Test func `an upsert may name what a filter of the app demands`() async throws {
        try await RuledFixture.with { fixture in
            func upsert(_ filter: Document) async throws -> Value {
                try await fixture.call(
                    "ann", "updateOne", "Mine",
                    ["filter": .document(filter), "update": ["$set": ["text": "new"]], "upsert": true])
            }
            for filter in [["owner": "ann", "n": 1], ["owner": ["$eq": "ann"], "n": 2], ["n": 3]] as [Document] {
                let inserted = try await upsert(filter)
                #expect(inserted["upsertedId"] != nil, "\(filter)")
                let again = try await upsert(filter)
                #expect(again["matchedCount"]?.intValue == 1, "\(filter)")
            }
            let mine = try await fixture.collection("Mine").find(["owner": "ann", "text": "new"])
            #expect(mine.count == 3)
            await #expect(throws: (any Error).self) { _ = try await upsert(["owner": "bob"]) }
            let count = try await fixture.collection("Mine").countDocuments()
            #expect(count == 3)
        }
    }

    @Test func `an unordered insert with a duplicate inserts the other documents`() async throws {
        try await withNotes { fixture in
            let documents: Document = [
                "documents": [["_id": 1, "owner": "ann"], ["_id": 8, "owner": "ann"]], "ordered": false,
            ]
            await #expect(throws: BulkWriteError.self) {
                try await fixture.call("ann", "insertMany", "Note", documents)
            }
            let other = try await fixture.collection("Note").findOne(["_id": 8])
            #expect(other != nil)
        }
    }

    // MARK: Functions in rules

    @Test func `rules call functions for each document, and hold nothing during the calls`() async throws {
        try await RuledFixture.with { fixture in
            try await fixture.collection("Room").insertMany(
                (0..<40).map { ["_id": .int32($0), "members": $0 % 2 == 0 ? ["ann"] : ["bob"]] })
            try await fixture.collection("Message").insertMany(
                (0..<40).map { ["_id": .int32($0), "room": .int32($0), "author": $0 < 20 ? "ann" : "bob"] })
            #expect(try await fixture.call("ann", "count", "Message") == .int64(20))
            // More calls at once than there are connections and hosts.
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<16 {
                    group.addTask {
                        let update: Document = [
                            "filter": ["_id": .int32(Int32(number / 2 * 2))], "update": ["$set": ["n": 1]],
                        ]
                        let result = try await fixture.call("ann", "updateOne", "Message", update)
                        #expect(result["matchedCount"]?.intValue == 1)
                    }
                }
                try await group.waitForAll()
            }
            let own: Document = ["room": ["$mod": [2, 0]], "author": "ann"]
            let many = try await fixture.call(
                "ann", "updateMany", "Message", ["filter": .document(own), "update": ["$set": ["n": 2]]])
            #expect(many["modifiedCount"]?.intValue == 10)
            // She isn't a member of the room, so the message doesn't exist for her.
            let others: Document = ["filter": ["_id": 1], "update": ["$set": ["n": 1]]]
            #expect(try await fixture.call("ann", "updateOne", "Message", others)["matchedCount"]?.intValue == 0)
            #expect(
                await fixture.refusal(
                    "ann", "updateOne", "Message", ["filter": ["_id": 30], "update": ["$set": ["n": 1]]])
                    == "NoMatchingRuleFound")
        }
    }

    /// The function is asked about the document, whose `_id` and times the call makes.
    @Test func `a rule function decides on documents that get their id and time here`() async throws {
        try await RuledFixture.with { fixture in
            let start = ContinuousClock.now
            try await fixture.call("ann", "insertOne", "Open", ["document": ["open": true]])
            try await fixture.call(
                "ann", "insertMany", "Open", ["documents": [["open": true, "n": 1], ["open": true, "n": 2]]])
            let upsert: Document = ["filter": ["open": true, "n": 3], "update": ["$set": ["q": 1]], "upsert": true]
            try await fixture.call("ann", "updateOne", "Open", upsert)
            let touched = try await fixture.call(
                "ann", "updateMany", "Open", ["filter": [:], "update": ["$currentDate": ["at": true]]])
            #expect(touched["modifiedCount"]?.intValue == 4)
            #expect(
                await fixture.refusal("ann", "insertOne", "Open", ["document": ["open": false]])
                    == "NoMatchingRuleFound")
            #expect(try await fixture.collection("Open").countDocuments() == 4)
            #expect(ContinuousClock.now - start < .seconds(10))
        }
    }

    @Test func `a rule function that fails ends the call`() async throws {
        try await RuledFixture.with { fixture in
            try await fixture.collection("Broken").insertOne(["_id": 1])
            #expect(await fixture.refusal("ann", "find", "Broken", [:]) == "FunctionExecutionError")
        }
    }
}
