import DocumentModel
import DocumentStore
import Testing
import Vectors

/// The cases of `Tests/Vectors` through the store, so that what Postgres does of a query is what MongoDB documents.
struct StoreVectorTests {
    @Test func `the store answers as MongoDB documents it`() async throws {
        try await StoreFixture.with(connections: 4) { fixture in
            let queue = Files(VectorFile.names)
            let ran = try await withThrowingTaskGroup(of: Int.self) { group in
                for worker in 0..<4 {
                    group.addTask {
                        let runner = StoreVectorRunner(store: fixture.store, database: "Vectors\(worker)")
                        var count = 0
                        while let name = await queue.next() { count += try await runner.run(VectorFile(name)) }
                        return count
                    }
                }
                return try await group.reduce(0, +)
            }
            // Some cases have no counterpart in a store: descriptions of updates, documents that can't be stored.
            #expect(ran > 11_000)
        }
    }

    private actor Files {
        private var names: [String]

        init(_ names: [String]) { self.names = names }

        func next() -> String? { names.popLast() }
    }
}

/// Runs the cases of files in a database of its own.
struct StoreVectorRunner {
    let store: DocumentStore
    let database: String

    private var collection: DocumentCollection { named("given") }

    private func named(_ name: String) -> DocumentCollection {
        store.collection(name, database: database, app: StoreFixture.app)
    }

    /// Returns how many cases ran.
    func run(_ file: VectorFile) async throws -> Int {
        let expressions = file.cases.filter { $0.kind == "expression" && $0.document.id == nil && !$0.mentionsRoot }
        var count = try await run(expressions: expressions)
        var loaded: [Document]?
        for vector in file.cases where vector.kind != "expression" {
            guard let documents = vector.storable else { continue }
            let isSame = loaded.map {
                documents.count == $0.count && zip(documents, $0).allSatisfy { $0.isIdentical(to: $1) }
            }
            if isSame != true { try await load(documents, into: collection) }
            loaded = vector.changes ? nil : documents
            guard let result = try await result(of: vector) else { continue }
            count += 1
            check(vector, result)
        }
        return count
    }

    private func load(_ documents: [Document], into collection: DocumentCollection) async throws {
        try await collection.deleteMany([:])
        try await collection.insertMany(documents)
    }

    private func check(_ vector: VectorCase, _ result: Value) {
        // The results of a join have no order.
        if vector.operation["collections"] != nil, result.unordered == vector.expected.unordered { return }
        if !vector.accepts(result) {
            Issue.record("\(vector.name): \(result) instead of \(vector.expected) by \(vector.operation)")
        }
    }

    /// Runs many expressions in one pipeline, each for its own document; those that fail run one by one.
    private func run(expressions vectors: [VectorCase]) async throws -> Int {
        try await load(
            vectors.enumerated().map { number, vector in
                Document(fields: [.init("_id", .integer(number))] + vector.document.fields)
            }, into: collection)
        let failing = vectors.indices.filter { vectors[$0].expected["error"] != nil }
        for number in failing {
            let stage: Document = ["$replaceWith": ["v": vectors[number].operation["expression"] ?? .null]]
            let result = await answer {
                .array(
                    try await collection.aggregate([["$match": ["_id": .integer(number)]], stage]).map { .document($0) }
                )
            }
            check(vectors[number], result)
        }
        let others = vectors.indices.filter {
            vectors[$0].expected["error"] == nil && !vectors[$0].dependsOnTime
        }
        for start in stride(from: 0, to: others.count, by: 50) {
            let part = others[start..<min(start + 50, others.count)]
            let branches = part.map { number -> Value in
                [
                    "case": ["$eq": ["$_id", .integer(number)]],
                    "then": ["v": vectors[number].operation["expression"] ?? .null],
                ]
            }
            let results = try await collection.aggregate([
                ["$match": ["_id": ["$in": .array(part.map { .integer($0) })]]], ["$sort": ["_id": 1]],
                ["$replaceWith": ["$switch": ["branches": .array(branches)]]],
            ])
            #expect(results.count == part.count)
            for (number, result) in zip(part, results) { check(vectors[number], result["v"] ?? "missing") }
        }
        return failing.count + others.count
    }

    private func answer(_ body: () async throws -> Value) async -> Value {
        do {
            return try await body()
        } catch let error as DocumentStoreError {
            return ["error": .integer(error.mongoCode ?? -1)]
        } catch {
            return ["error": "\(error)"]
        }
    }

    private func result(of vector: VectorCase) async throws -> Value? {
        let operation = vector.operation
        let collation = operation["collation"]?.documentValue
        // The engine in memory has no scores; the store reports what a query for one lacks.
        if vector.expected["error"] == 115, "\(operation)".contains("$meta") { return nil }
        switch vector.kind {
        case "filter" where !vector.changes:
            return await answer {
                let filter = operation["filter"]?.documentValue ?? [:]
                let found = try await collection.find(filter, options: FindOptions(collation: collation))
                if case .document = vector.given { return .bool(!found.isEmpty) }
                let ids = Set(found.compactMap(\.id))
                return .array(vector.documents.compactMap(\.id).filter { ids.contains($0) })
            }
        case "filter", "update": return await answer { try await update(vector) }
        case "upsert": return await answer { try await upsert(vector) }
        case "project":
            return await answer {
                var options = FindOptions()
                options.projection = operation["project"]?.documentValue
                let filter = operation["filter"]?.documentValue ?? [:]
                return try await collection.findOne(filter, options: options).map { .document($0) } ?? .null
            }
        case "sort":
            return await answer {
                var options = FindOptions(collation: collation)
                options.sort = operation["sort"]?.documentValue
                // Documents that sort equally have no order in a collection; the cases have them in the order of their `_id`s.
                if options.sort?.id == nil { options.sort?["_id"] = 1 }
                return .array(try await collection.find(options: options).compactMap(\.id))
            }
        case "pipeline": return try await pipeline(vector, collation)
        default: return nil
        }
    }

    private func update(_ vector: VectorCase) async throws -> Value {
        let update = vector.operation["update"] ?? .null
        let filter = vector.operation["filter"]?.documentValue ?? [:]
        let isReplacement = update.documentValue.map { $0.keys.first?.hasPrefix("$") != true } ?? false
        if isReplacement, vector.arrayFilters.isEmpty {
            try await collection.replaceOne(filter, update.documentValue ?? [:])
        } else {
            try await collection.updateOne(filter, update, options: UpdateOptions(arrayFilters: vector.arrayFilters))
        }
        return try await collection.findOne().map { .document($0) } ?? .null
    }

    private func upsert(_ vector: VectorCase) async throws -> Value {
        try await collection.deleteMany([:])
        let filter = vector.operation["filter"]?.documentValue ?? [:]
        let update = vector.operation["upsert"] ?? .null
        if update.documentValue?.keys.first?.hasPrefix("$") == false {
            try await collection.replaceOne(filter, update.documentValue ?? [:], options: UpdateOptions(upsert: true))
        } else {
            try await collection.updateOne(
                filter, update, options: UpdateOptions(upsert: true, arrayFilters: vector.arrayFilters))
        }
        var document = try await collection.findOne() ?? [:]
        if vector.expected["_id"] == "made" { document["_id"] = "made" }
        return .document(document)
    }

    private func pipeline(_ vector: VectorCase, _ collation: Document?) async throws -> Value? {
        for field in vector.operation["collections"]?.documentValue?.fields ?? [] {
            try await load(field.value.arrayValue?.compactMap(\.documentValue) ?? [], into: named(field.key))
        }
        let stages = vector.operation["pipeline"]?.arrayValue?.compactMap(\.documentValue) ?? []
        if stages.count != vector.operation["pipeline"]?.arrayValue?.count { return nil }
        // `OutputTests` covers what is written.
        if ["$out", "$merge"].contains(stages.last?.keys.first), vector.expected["error"] == nil { return nil }
        let result = await answer {
            .array(
                try await collection.aggregate(stages, options: AggregateOptions(collation: collation)).map {
                    .document($0)
                })
        }
        // A collection has no order; the cases give their documents by `_id`.
        let sorted =
            vector.accepts(result)
            ? result
            : await answer {
                let sorted = [["$sort": ["_id": 1]]] + stages
                return .array(
                    try await collection.aggregate(sorted, options: AggregateOptions(collation: collation)).map {
                        .document($0)
                    })
            }
        for name in vector.operation["collections"]?.documentValue?.keys ?? [] { try await named(name).deleteMany([:]) }
        return sorted
    }
}

extension VectorCase {
    /// Whether it changes what is stored.
    fileprivate var changes: Bool { operation["update"] != nil || kind == "upsert" }

    fileprivate var dependsOnTime: Bool {
        operation["now"] != nil || "\(operation)".contains("$currentDate") || "\(operation)".contains("$$NOW")
    }

    fileprivate var mentionsRoot: Bool { "\(operation)".contains("$$ROOT") || "\(operation)".contains("$$CURRENT") }

    /// The documents as a collection can hold them; `nil` for a case that only the engine can run.
    fileprivate var storable: [Document]? {
        if operation["description"] == true || dependsOnTime { return nil }
        var documents = documents
        if case .document(let document) = given { documents = [document] }
        var ids: Set<Value> = []
        for index in documents.indices {
            if documents[index].id == nil {
                // Whether an `_id` comes back would be a difference.
                guard kind == "filter", !changes else { return nil }
                documents[index].fields.insert(.init("_id", .integer(index)), at: 0)
            }
            guard let id = documents[index].id, id.idText != nil, ids.insert(id).inserted else {
                return nil
            }
        }
        return documents
    }
}

extension Value {
    /// With arrays of documents in an order of their own.
    fileprivate var unordered: Value {
        switch self {
        case .array(let elements):
            let inner = elements.map(\.unordered)
            return .array(elements.contains { $0.documentValue == nil } ? inner : inner.sorted { "\($0)" < "\($1)" })
        case .document(let document):
            return .document(Document(fields: document.fields.map { .init($0.key, $0.value.unordered) }))
        default: return self
        }
    }
}
