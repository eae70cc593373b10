import DocumentModel
import SyncEngine

/// Documents with every type at the same few paths, and filters that ask for them; all from a seed.
struct RandomDocuments {
    var generator: SeededGenerator

    mutating func pick<T>(_ choices: [T]) -> T { choices[Int.random(in: 0..<choices.count, using: &generator)] }

    mutating func scalar() -> Value {
        pick([
            .null, .bool(true), .bool(false), .int32(0), .int32(5), .int64(5), .int64(-7), .double(5), .double(5.5),
            .double(.nan), .double(-0.0), .int64(9_007_199_254_740_993), .int64(1 << 60), .double(0x1p60),
            .double(1e300), .string(""), .string("a"), .string("b"),
            .string("a\u{0}b"), .symbol("a"), .date(0), .date(5), .date(9_100_000_000_000_000),
            .date(-9_100_000_000_000_000), .objectId(ObjectId(high: 1, low: 1)), .objectId(ObjectId(high: 1, low: 2)),
            .binary(Binary([UInt8](repeating: 7, count: 16), subtype: 4)), .minKey, .maxKey,
            .timestamp(Timestamp(seconds: 1, increment: 1)), Decimal128("5").map(Value.decimal128) ?? .null,
            Decimal128("7.5").map(Value.decimal128) ?? .null,
        ])
    }

    mutating func value(depth: Int = 0) -> Value {
        switch Int.random(in: 0..<(depth < 2 ? 10 : 7), using: &generator) {
        case 7: return .array((0..<Int.random(in: 0...3, using: &generator)).map { _ in value(depth: depth + 1) })
        case 8, 9: return .document(fields(depth: depth + 1))
        default: return scalar()
        }
    }

    mutating func fields(depth: Int) -> Document {
        var document = Document()
        for name in ["x", "y", "z"] where Bool.random(using: &generator) { document[name] = value(depth: depth) }
        return document
    }

    mutating func document(_ number: Int) -> Document {
        var document: Document = ["_id": pick([.string("d\(number)"), .int32(Int32(number))])]
        document.fields += fields(depth: 0).fields
        if Bool.random(using: &generator) {
            document["partition"] = pick([.string("p"), .string("q"), .array(["p"]), .int32(5), .bool(true)])
        }
        return document
    }

    mutating func filter(depth: Int = 0) -> Document {
        if depth < 2, Int.random(in: 0..<3, using: &generator) == 0 {
            let name = pick(["$and", "$or", "$nor"])
            return [name: .array([.document(filter(depth: depth + 1)), .document(filter(depth: depth + 1))])]
        }
        let path = pick(["x", "y", "z", "x.y", "y.x", "x.y.z", "x.0", "partition", "_id"])
        let value = path == "_id" ? pick([.string("d5"), .int32(7), .double(7), .string("d3")]) : scalar()
        switch Int.random(in: 0..<15, using: &generator) {
        case 0: return [path: ["$gt": value]]
        case 1: return [path: ["$lte": value]]
        case 2: return [path: ["$lt": value]]
        case 3: return [path: ["$in": .array([value, scalar()])]]
        case 4: return [path: ["$exists": .bool(Bool.random(using: &generator))]]
        case 5: return [path: ["$ne": value]]
        case 6: return [path: ["$not": ["$gte": value]]]
        case 7: return [path: ["$elemMatch": ["$gte": value]]]
        case 8: return [path: ["$in": .array([.null, value])]]
        case 9: return [path: ["$nin": .array([value, scalar()])]]
        case 10: return [path: ["$size": .int32(Int32.random(in: 0...2, using: &generator))]]
        case 11: return [path: ["$all": .array([value, scalar()])]]
        case 13: return [path: pick([["y": "a"], ["z": true, "y": "b"], ["a"], [], [:]])]
        case 12: return [path: ["$gte": .string(pick(["", "a", "B"]))]]
        default: return [path: value]
        }
    }
}
