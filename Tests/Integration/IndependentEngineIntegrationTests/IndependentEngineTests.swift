import ChildProcesses
import DocumentModel
import Foundation
import QueryLanguage
import SyncEngine
import Testing
import Vectors

/// The engine against mongomock, an independent implementation: random documents and operations from a seed.
///
/// `known-differences.json` lists the known differences and their reasons; one that no longer exists is reported, too.
struct IndependentEngineTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()

    /// The interpreter of the environment that `Deploy/test` makes.
    private static var python: String {
        ProcessInfo.processInfo.environment["PARTITA_REFERENCE_PYTHON"]
            ?? folder.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent(".build/reference/bin/python3").path
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `both engines give the same answers`(seed: UInt64) async throws {
        var source = SharedCases(generator: SeededGenerator(seed: seed))
        let cases = (0..<400).map { _ in source.next() }
        let theirs = try await answers(to: cases)
        let known = try KnownDifference.all(in: Self.folder)
        for (number, (operation, theirs)) in zip(cases, theirs).enumerated() {
            let ours = try await Self.answer(to: operation)
            guard !Self.areSame(ours, theirs) else { continue }
            let text = Self.text(operation, ours, theirs)
            if known.contains(where: { $0.explains(text) }) { continue }
            Issue.record("seed \(seed), case \(number): \(text)")
        }
    }

    @Test func `every known difference still exists`() async throws {
        let known = try KnownDifference.all(in: Self.folder)
        let theirs = try await answers(to: known.map(\.example))
        for (difference, theirs) in zip(known, theirs) {
            let ours = try await Self.answer(to: difference.example)
            #expect(!Self.areSame(ours, theirs), "\(difference.name) is obsolete: both answer \(ours)")
            #expect(Self.areSame(ours, difference.ours), "\(difference.name): \(ours) instead of \(difference.ours)")
            #expect(
                difference.explains(Self.text(difference.example, ours, theirs)),
                "\(difference.name) doesn't explain its own example")
        }
    }

    private func answers(to cases: [Document]) async throws -> [Value] {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("cases-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: file) }  // nothing depends on the removal
        let lines = cases.map { ExtendedJSON.print($0, mode: .canonical) }.joined(separator: "\n")
        try lines.write(toFile: file, atomically: true, encoding: .utf8)
        let script = Self.folder.appendingPathComponent("peer.py").path
        let run = try await CapturedRun.run(Self.python, [script, file])
        #expect(run.status.isSuccess, "\(run.output.suffix(500))")
        let answers = try run.output.split(separator: "\n").map { try ExtendedJSON.parse(String($0)) }
        return try #require(answers.count == cases.count ? answers : nil, "\(run.output.suffix(500))")
    }

    /// `{results: […]}` or `{error: code}`.
    private static func answer(to operation: Document) async throws -> Value {
        let documents = operation["documents"]?.arrayValue?.compactMap(\.documentValue) ?? []
        do {
            var results: [Document]
            let filter = try Filter(operation["filter"]?.documentValue ?? [:])
            if let update = operation["update"] {
                results = documents
                if let place = results.firstIndex(where: { filter.matches($0, now: 0) }) {
                    try Update(update).apply(to: &results[place], filter: filter, now: 0)
                }
            } else if let stages = operation["pipeline"] {
                results = try await Pipeline(stages).run(documents, context: PipelineContext())
            } else {
                results = documents.filter { filter.matches($0, now: 0) }
                if let sort = operation["sort"]?.documentValue { try Sort(sort).sort(&results) }
                if let projection = operation["projection"]?.documentValue {
                    let parsed = try Projection(projection)
                    results = try results.map { try parsed.apply(to: $0, filter: filter) }
                }
            }
            return ["results": .array(results.map { .document($0) })]
        } catch let error as QueryError {
            return ["error": .integer(error.code)]
        }
    }

    private static func text(_ operation: Document, _ ours: Value, _ theirs: Value) -> String {
        "\(operation) ours: \(ours) theirs: \(theirs)"
    }

    /// Two refusals are alike, whatever their words.
    private static func areSame(_ a: Value, _ b: Value) -> Bool {
        if a["error"] != nil || b["error"] != nil { return a["error"] != nil && b["error"] != nil }
        return VectorCase(name: "", given: .null, operation: [:], expected: sorted(b), isExact: false).accepts(
            sorted(a))
    }

    /// The same with fields sorted by name, since mongomock orders the fields that it creates differently.
    private static func sorted(_ value: Value) -> Value {
        switch value {
        case .document(let document):
            .document(
                Document(
                    fields: document.fields.map { .init($0.key, sorted($0.value)) }.sorted { $0.key < $1.key }))
        case .array(let elements): .array(elements.map(sorted))
        default: value
        }
    }
}

/// A difference to mongomock that is known, and why the engine is right.
struct KnownDifference {
    let name: String
    let example: Document
    let ours: Value
    private let pattern: Regex<AnyRegexOutput>

    static func all(in folder: URL) throws -> [KnownDifference] {
        let data = try Data(contentsOf: folder.appendingPathComponent("known-differences.json"))
        return try ExtendedJSON.parse([UInt8](data)).arrayValue?.map { try KnownDifference($0) } ?? []
    }

    private init(_ value: Value) throws {
        name = try #require(value["name"]?.stringValue)
        _ = try #require(value["why"]?.stringValue)
        example = try #require(value["example"]?.documentValue)
        ours = try #require(value["ours"])
        pattern = try Regex(try #require(value["pattern"]?.stringValue))
    }

    /// Whether the difference covers a case, given by the operation and both answers.
    func explains(_ text: String) -> Bool { text.contains(pattern) }
}

/// Random documents and operations that both engines claim to support.
struct SharedCases {
    var generator: SeededGenerator

    private mutating func pick<T>(_ choices: [T]) -> T { choices[Int.random(in: 0..<choices.count, using: &generator)] }

    private mutating func scalar() -> Value {
        pick([1, 2, 5, -3, 2.5, "a", "b", "abc", .null, .date(1000), .int64(7)])
    }

    private mutating func value(depth: Int = 0) -> Value {
        switch Int.random(in: 0..<(depth < 2 ? 8 : 5), using: &generator) {
        case 5: .array((0..<Int.random(in: 1...3, using: &generator)).map { _ in value(depth: depth + 1) })
        case 6: .document(fields(depth: depth + 1))
        default: scalar()
        }
    }

    private mutating func fields(depth: Int) -> Document {
        var document = Document()
        for name in ["x", "y", "z"] where Int.random(in: 0..<3, using: &generator) > 0 {
            document[name] = value(depth: depth)
        }
        return document
    }

    private mutating func filter(depth: Int = 0) -> Document {
        if depth < 2, Int.random(in: 0..<4, using: &generator) == 0 {
            return [
                pick(["$and", "$or", "$nor"]): .array([
                    .document(filter(depth: depth + 1)), .document(filter(depth: depth + 1)),
                ])
            ]
        }
        let path = pick(["x", "y", "z", "x.y", "y.x", "_id"])
        let value = scalar()
        return pick([
            [path: value], [path: ["$gt": value]], [path: ["$lte": value]], [path: ["$ne": value]],
            [path: ["$in": .array([value, scalar()])]], [path: ["$nin": .array([value])]],
            [path: ["$exists": pick([true, false])]],
            [path: ["$size": pick([1, 2])]], [path: ["$all": .array([value])]],
            [path: ["$type": pick(["string", "int", "array"])]],
            [path: ["$elemMatch": ["$gte": value]]], [path: ["$regex": "^a"]], [path: ["$not": ["$gt": value]]],
            [path: ["$gte": value, "$lt": scalar()]], [path: self.value(depth: 1)],
            [path: ["$elemMatch": ["x": value]]], [path: ["$all": .array([value, scalar()])]],
        ])
    }

    mutating func next() -> Document {
        var operation = Document()
        operation["documents"] = .array(
            (0..<6).map { number in
                var document: Document = ["_id": .integer(number)]
                document.fields += fields(depth: 0).fields
                return .document(document)
            })
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: operation["filter"] = .document(filter())
        case 1:
            operation["filter"] = .document(filter())
            operation["sort"] = ["_id": pick([1, -1])]
            operation["projection"] = pick([["x": 1], ["y": 0], ["x.y": 1, "_id": 0], ["_id": 1]])
        case 2:
            operation["filter"] = ["_id": .integer(Int.random(in: 0..<6, using: &generator))]
            operation["update"] = update()
        default: operation["pipeline"] = .array(pipeline().map { .document($0) })
        }
        return operation
    }

    private mutating func update() -> Value {
        let path = pick(["x", "y", "z", "x.y", "new"])
        return pick([
            ["$set": [path: value()]], ["$unset": [path: ""]], ["$inc": [path: pick([1, 2.5])]],
            ["$min": [path: pick([1, 3])]], ["$max": [path: pick([1, 3])]], ["$push": [path: scalar()]],
            ["$push": [path: ["$each": [1, 2], "$slice": 2]]], ["$addToSet": [path: scalar()]],
            ["$pull": [path: scalar()]],
            ["$set": ["x.0": value()]], ["$set": [path: value(), "other.deep": scalar()]],
            ["$addToSet": [path: ["$each": .array([scalar(), scalar()])]]],
            ["$push": [path: ["$each": .array([scalar()]), "$position": 0]]],
            ["$pop": [path: pick([1, -1])]], ["$rename": [path: "renamed"]], ["$pullAll": [path: [1, "a"]]],
        ])
    }

    private mutating func pipeline() -> [Document] {
        var stages: [Document] = [["$match": .document(filter())], ["$sort": ["_id": 1]]]
        let path: Value = pick(["$x", "$y", "$z", "$x.y"])
        if Int.random(in: 0..<4, using: &generator) == 0 {
            let group: Document = [
                "_id": pick([path, .null]), "n": ["$sum": 1], "s": ["$sum": path], "f": ["$first": "$_id"],
                "l": ["$last": path],
                "a": ["$push": path],
            ]
            return stages + [["$group": .document(group)], ["$sort": ["f": 1]]]
        }
        let choices: [Document] = [
            ["$project": ["x": 1, "v": path]], ["$addFields": ["v": path]], ["$unwind": pick(["$x", "$y"])],
            ["$limit": 2], ["$skip": 1],
            ["$count": "n"], ["$group": ["_id": .null, "n": ["$sum": 1], "all": ["$push": "$_id"]]],
            ["$project": ["v": ["$ifNull": [path, "none"]]]], ["$project": ["v": ["$eq": [path, scalar()]]]],
            ["$project": ["v": ["$cond": [["$gt": [path, 1]], "more", "less"]]]],
            ["$project": ["v": ["$concat": ["a", "b"]]]],
            ["$unwind": ["path": path, "preserveNullAndEmptyArrays": true]], ["$sort": ["y": 1, "_id": 1]],
            ["$project": ["v": ["$arrayElemAt": [path, 0]]]], ["$project": ["v": ["$add": [path, 1]]]],
            ["$project": ["v": ["$multiply": [path, 2]]]], ["$project": ["v": ["$subtract": [path, 1]]]],
            ["$project": ["v": ["$in": [scalar(), [1, "a", 2.5]]]]], ["$project": ["v": ["$toUpper": path]]],
            ["$project": ["v": ["$size": path]]], ["$project": ["v": ["$concatArrays": [path, [1]]]]],
            ["$project": ["v": ["$and": [path, true]]]], ["$match": ["$expr": ["$gt": [path, 1]]]],
            ["$project": ["v": ["$filter": ["input": path, "as": "e", "cond": ["$gt": ["$$e", 1]]]]]],
            ["$project": ["v": ["$map": ["input": path, "as": "e", "in": ["$$e", 1]]]]],
            ["$facet": ["a": [["$count": "n"]], "b": [["$limit": 1]]]], ["$project": ["x": 0]],
            ["$project": ["x.y": 1]],
            ["$project": ["v": ["$isArray": path]]], ["$replaceRoot": ["newRoot": ["v": path]]],
        ]
        stages.append(pick(choices))
        return stages
    }
}
