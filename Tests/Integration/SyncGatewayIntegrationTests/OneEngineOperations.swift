import DocumentModel

/// A call of a collection: its method, and its arguments by their names.
struct EngineOperation: Sendable, CustomStringConvertible {
    let method: String
    let arguments: Document
    /// MongoDB's code of the error that it ends with.
    let code: Int?

    init(_ method: String, _ arguments: Document, fails code: Int? = nil) {
        self.method = method
        self.arguments = arguments
        self.code = code
    }

    var description: String { "\(method) \(ExtendedJSON.print(arguments, mode: .relaxed))" }

    /// All operations of a collection, with their answers and errors. They run in sequence: a later one sees
    /// what the earlier ones have written.
    static let all: [EngineOperation] =
        inserts + finds + updates + modifications + aggregations + bulks + hints + deletes

    private static let inserts: [EngineOperation] = [
        .init(
            "insertOne", ["document": ["_id": 1, "n": 1, "tags": ["a", "b"], "in": ["deep": true, "z": 1, "a": 2]]]),
        .init(
            "insertOne",
            [
                "document": [
                    "_id": .objectId(ObjectId(high: 7, low: 7)), "at": .date(1_700_000_000_000),
                    "price": Decimal128("9.90").map(Value.decimal128) ?? .null, "zero": "a\u{0}b", "half": .double(0.5),
                    "bytes": .binary(Binary([1, 2, 3], subtype: 0)),
                ]
            ]),
        .init("insertMany", ["documents": [["_id": 2, "n": 2.5], ["_id": "three", "n": 3, "x": .null]]]),
        .init("insertOne", ["document": ["_id": 1]], fails: 11000),
        .init("insertMany", ["documents": [["_id": 20], ["_id": 1], ["_id": 21]]], fails: 11000),
        .init("insertMany", ["documents": [["_id": 22], ["_id": 1], ["_id": 23]], "ordered": false], fails: 11000),
        .init("insertOne", ["document": ["_id": ["a", "b"]]], fails: 53),
        .init("insertMany", ["documents": []], fails: 2),
    ]

    private static let finds: [EngineOperation] = [
        .init("find", ["filter": [:], "sort": ["_id": 1]]),
        .init(
            "find", ["filter": ["n": ["$gte": 1]], "sort": ["n": -1], "skip": 1, "limit": 1, "projection": ["n": 1]]),
        .init("find", ["filter": ["in": ["deep": true, "z": 1, "a": 2]]]),
        .init("find", ["filter": ["in": ["z": 1, "deep": true, "a": 2]]]),
        .init("find", ["filter": ["zero": "a\u{0}b"], "projection": ["_id": 0, "zero": 1]]),
        .init("find", ["filter": ["tags": "b"], "projection": ["tags.$": 1]]),
        .init("find", ["filter": ["tags": "b"], "projection": ["tags": ["$slice": -1], "n": 1]]),
        .init("find", ["filter": ["_id": "THREE"], "collation": ["locale": "en", "strength": 2]]),
        .init("find", ["filter": ["a": ["$where": 1]]], fails: 2),
        .init("find", ["filter": ["$nor": 1]], fails: 2),
        .init("find", ["filter": [:], "sort": ["n": "up"]], fails: 15974),
        .init("find", ["filter": [:], "projection": ["a": 1, "b": 0]], fails: 31254),
        .init("find", ["filtr": ["n": 1]], fails: 40415),
        .init("find", ["filter": [:], "limit": 1.5], fails: 2),
        .init("findOne", ["filter": ["in.deep": true]]),
        .init("findOne", ["filter": ["no": "where"]]),
        .init("findOne", ["filter": [:], "sort": ["n": -1], "projection": ["_id": 1]]),
        .init("count", ["filter": ["n": ["$lt": 3]]]),
        .init("countDocuments", ["filter": ["n": ["$exists": true]]]),
        .init("countDocuments", ["filter": [:], "skip": 2, "limit": 3]),
        .init("countDocuments", ["filter": ["n": ["$foo": 1]]], fails: 2),
        .init("estimatedDocumentCount", [:]),
        .init("distinct", ["field": "tags", "filter": [:]]),
        .init("distinct", ["field": "n", "filter": ["n": ["$lt": 3]]]),
        .init("distinct", ["field": "n", "filter": ["$foo": 1]], fails: 2),
    ]

    private static let updates: [EngineOperation] = [
        .init("updateOne", ["filter": ["n": ["$gte": 3]], "update": ["$push": ["list": ["$each": [1, 2]]]]]),
        .init("updateOne", ["filter": ["_id": 1, "tags": "b"], "update": ["$set": ["tags.$": "B"]]]),
        .init(
            "updateOne",
            ["filter": ["_id": 1], "update": ["$set": ["tags.$[t]": "A"]], "arrayFilters": [["t": "a"]]]),
        .init("updateOne", ["filter": ["_id": 1], "update": ["$set": ["n": 1]]]),
        .init("updateOne", ["filter": ["_id": 99], "update": ["$set": ["n": 1]]]),
        .init("updateOne", ["filter": ["_id": 7], "update": ["$setOnInsert": ["made": true]], "upsert": true]),
        .init("updateOne", ["filter": ["_id": 7], "update": ["$set": ["made": false]], "upsert": true]),
        .init(
            "updateMany",
            ["filter": ["n": ["$exists": true]], "update": [["$set": ["twice": ["$multiply": ["$n", 2]]]]]]),
        .init("updateMany", ["filter": ["_id": 70, "k": "v"], "update": ["$inc": ["n": 5]], "upsert": true]),
        .init("updateOne", ["filter": [:], "update": ["$no": ["a": 1]]], fails: 9),
        .init("updateOne", ["filter": ["_id": 1], "update": ["a": 1]]),
        .init("updateOne", ["filter": ["_id": 1], "update": ["a": 1, "$set": ["b": 1]]], fails: 52),
        .init("updateOne", ["filter": ["_id": 1], "update": ["$set": ["_id": 5]]], fails: 66),
        .init("updateOne", ["filter": ["_id": 1], "update": ["$set": ["a": 1], "$inc": ["a": 1]]], fails: 40),
        .init("updateOne", ["filter": ["_id": 1], "update": ["$inc": ["tags": 1]]], fails: 14),
        .init("updateMany", ["filter": [:], "update": ["$push": ["_id": 1]]], fails: 2),
        .init("replaceOne", ["filter": ["_id": 2], "replacement": ["name": "two"]]),
        .init("replaceOne", ["filter": ["_id": 71], "replacement": ["name": "new"], "upsert": true]),
        .init("replaceOne", ["filter": ["_id": 2], "replacement": ["$set": ["a": 1]]], fails: 9),
        .init("replaceOne", ["filter": ["_id": 2], "replacement": ["_id": 3]], fails: 66),
    ]

    private static let modifications: [EngineOperation] = [
        .init(
            "findOneAndUpdate",
            ["filter": ["_id": 1], "update": ["$inc": ["n": 10]], "returnNewDocument": true, "projection": ["n": 1]]),
        .init(
            "findOneAndUpdate", ["filter": ["n": ["$gt": 0]], "update": ["$set": ["first": true]], "sort": ["n": -1]]),
        .init("findOneAndUpdate", ["filter": ["_id": 98], "update": ["$set": ["a": 1]]]),
        .init(
            "findOneAndUpdate",
            ["filter": ["_id": 72], "update": ["$set": ["a": 1]], "upsert": true, "returnNewDocument": true]),
        .init("findOneAndUpdate", ["filter": ["_id": 1], "update": ["$rename": ["n": "n"]]], fails: 2),
        .init("findOneAndReplace", ["filter": ["_id": 72], "replacement": ["b": 2]]),
        .init("findOneAndReplace", ["filter": ["_id": 72], "replacement": ["c": 3], "returnNewDocument": true]),
        .init("findOneAndReplace", ["filter": ["_id": 72], "replacement": ["$inc": ["c": 3]]], fails: 9),
        .init(
            "findOneAndDelete", ["filter": ["_id": ["$in": [71, 72]]], "sort": ["_id": -1], "projection": ["_id": 1]]),
        .init("findOneAndDelete", ["filter": ["_id": 97]]),
    ]

    private static let aggregations: [EngineOperation] = [
        .init(
            "aggregate",
            [
                "pipeline": [
                    ["$unwind": "$tags"], ["$group": ["_id": "$tags", "sum": ["$sum": "$n"]]], ["$sort": ["_id": 1]],
                ]
            ]),
        .init(
            "aggregate",
            ["pipeline": [["$match": ["n": ["$gt": 0]]], ["$sort": ["n": -1]], ["$skip": 1], ["$limit": 1]]]),
        .init("aggregate", ["pipeline": [["$match": ["name": "two"]], ["$count": "all"]]]),
        .init(
            "aggregate",
            [
                "pipeline": [
                    ["$match": ["_id": 1]],
                    ["$facet": ["one": [["$project": ["n": 1]]], "two": [["$sortByCount": "$name"]]]],
                ]
            ]),
        .init("aggregate", ["pipeline": [["$documents": [["a": 1], ["a": 2]]], ["$match": ["a": 2]]]]),
        .init("aggregate", ["pipeline": [["$nothing": 1]]], fails: 40324),
        .init("aggregate", ["pipeline": [["$group": ["a": 1]]]], fails: 15955),
        .init("aggregate", ["pipeline": [["$limit": 0]]], fails: 15958),
        .init("aggregate", ["pipeline": [["$project": ["q": ["$divide": [1, 0]]]]]], fails: 2),
    ]

    private static let bulks: [EngineOperation] = [
        .init(
            "bulkWrite",
            [
                "operations": [
                    ["insertOne": ["document": ["_id": 8]]],
                    ["updateOne": ["filter": ["_id": 8], "update": ["$set": ["a": 1]]]],
                    ["updateMany": ["filter": ["_id": ["$in": [8, 70]]], "update": ["$set": ["many": 1]]]],
                    ["updateOne": ["filter": ["_id": 73], "update": ["$set": ["a": 1]], "upsert": true]],
                    ["replaceOne": ["filter": ["_id": 73], "replacement": ["b": "B"]]],
                    [
                        "replaceOne": [
                            "filter": ["b": "b"], "replacement": ["b": "C"],
                            "collation": ["locale": "en", "strength": 2],
                        ]
                    ],
                    ["deleteOne": ["filter": ["_id": 7]]],
                    ["deleteMany": ["filter": ["b": "c"], "collation": ["locale": "en", "strength": 2]]],
                ]
            ]),
        .init(
            "bulkWrite",
            [
                "operations": [
                    ["insertOne": ["document": ["_id": 30]]], ["insertOne": ["document": ["_id": 30]]],
                    ["insertOne": ["document": ["_id": 31]]],
                ]
            ], fails: 11000),
        .init(
            "bulkWrite",
            [
                "operations": [
                    ["insertOne": ["document": ["_id": 32]]], ["insertOne": ["document": ["_id": 32]]],
                    ["updateOne": ["filter": ["_id": 32], "update": ["$inc": ["_id": 1]]]],
                    ["insertOne": ["document": ["_id": 33]]],
                ], "ordered": false,
            ], fails: 11000),
        .init("bulkWrite", ["operations": [["dropOne": ["filter": [:]]]]], fails: 115),
    ]

    private static let hints: [EngineOperation] = {
        let updates: Document = ["filter": ["n": 11], "update": ["$inc": ["hinted": 1]]]
        let replacement: Document = ["filter": ["_id": 31], "replacement": ["n": 31]]
        let calls: [(String, Document)] = [
            ("find", ["filter": ["n": 11]]), ("findOne", ["filter": ["n": 11]]), ("count", ["filter": ["n": 11]]),
            ("countDocuments", ["filter": ["n": 11]]), ("distinct", ["field": "n", "filter": ["n": 11]]),
            ("aggregate", ["pipeline": [["$match": ["n": 11]], ["$count": "all"]]]), ("updateOne", updates),
            ("updateMany", updates), ("findOneAndUpdate", updates), ("replaceOne", replacement),
            ("findOneAndReplace", replacement), ("deleteOne", ["filter": ["n": 31]]),
            ("deleteMany", ["filter": ["n": 31]]), ("findOneAndDelete", ["filter": ["n": 31]]),
        ]
        let good: [Value] = ["n_1", ["n": 1], ["$natural": 1]]
        let hinted = calls.enumerated().flatMap { place, call in
            [(good[place % good.count], nil), ("none_1", 2)].map { (hint: Value, code: Int?) in
                var arguments = call.1
                arguments["hint"] = hint
                return EngineOperation(call.0, arguments, fails: code)
            }
        }
        let bulk: [EngineOperation] = ["updateOne", "updateMany"].map { name in
            var write = updates
            write["hint"] = "none_1"
            return EngineOperation("bulkWrite", ["operations": [[name: .document(write)]]], fails: 2)
        }
        return hinted + bulk + [.init("find", ["filter": ["n": 11], "hint": 5], fails: 9)]
    }()

    private static let deletes: [EngineOperation] = [
        .init("deleteOne", ["filter": ["_id": 2]]), .init("deleteOne", ["filter": ["_id": 2]]),
        .init("deleteMany", ["filter": ["x": ["$type": "null"]]]),
        .init("deleteMany", ["filter": ["$foo": 1]], fails: 2), .init("deleteMany", ["filter": "all"], fails: 14),
        .init("bulkWrite", ["operations": [["deleteMany": [:]]]], fails: 9),
        .init("find", ["filter": [:], "sort": ["_id": 1], "skip": -1], fails: 51024),
        .init("deleteMany", ["filter": ["_id": ["$gte": 20, "$lte": 40]]]),
    ]
}
