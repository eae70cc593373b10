import DocumentModel
import QueryLanguage
import Vectors

/// Performs one case with the engine in memory.
struct VectorRunner {
    let vector: VectorCase

    private var operation: Document { vector.operation }

    /// The result, or `{error: code}`.
    func run() async throws -> Value {
        do throws(QueryError) {
            switch vector.kind {
            case "filter" where operation["update"] == nil: return try filter()
            case "update", "filter": return try update()
            case "upsert": return try upsert()
            case "expression": return try expression()
            case "project": return try project()
            case "sort": return try sort()
            case "bson": return bson()
            case "text": return text()
            case "pipeline": break
            default: throw QueryError(code: -2, message: "the case has an unknown operation")
            }
        } catch {
            return ["error": .integer(error.code)]
        }
        do {
            return try await pipeline()
        } catch let error as QueryError {
            return ["error": .integer(error.code)]
        }
    }

    /// The texts of a document that is given in hexadecimal BSON. Both conversions back must give the same bytes.
    private func bson() -> Value {
        let digits = Array(operation["bson"]?.stringValue?.utf8 ?? "".utf8)
        let bytes = stride(from: 0, to: digits.count, by: 2).compactMap {
            UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16)
        }
        guard let document = try? BSON.decode(bytes) else { return ["error": 0] }
        let canonical = ExtendedJSON.print(document, mode: .canonical)
        let relaxed = ExtendedJSON.print(document, mode: .relaxed)
        guard (try? BSON.encode(document)) == bytes, let again = try? ExtendedJSON.parseDocument(canonical),
            (try? BSON.encode(again)) == bytes, let loose = try? ExtendedJSON.parseDocument(relaxed), loose == document
        else { return "the way back differs" }
        return ["canonical": .string(canonical), "relaxed": .string(relaxed)]
    }

    /// The canonical text of a document in any form of Extended JSON.
    private func text() -> Value {
        guard let document = try? ExtendedJSON.parseDocument(operation["text"]?.stringValue ?? "") else {
            return ["error": 0]
        }
        return ["canonical": .string(ExtendedJSON.print(document, mode: .canonical))]
    }

    private func collation() throws(QueryError) -> Collation? {
        guard let document = operation["collation"]?.documentValue else { return nil }
        return try Collation(document)
    }

    /// The `_id`s of the documents that match, or whether the one document does.
    private func filter() throws(QueryError) -> Value {
        let filter = try Filter(operation["filter"]?.documentValue ?? Document(), collation: collation())
        if case .document(let document) = vector.given { return .bool(try filter.evaluate(document, now: vector.now)) }
        var found: [Value] = []
        for document in vector.documents where try filter.evaluate(document, now: vector.now) {
            found.append(document.id ?? .null)
        }
        return .array(found)
    }

    /// The document after the update; with `description: true` what a change stream shows.
    private func update() throws(QueryError) -> Value {
        let update = try Update(operation["update"] ?? .null, arrayFilters: vector.arrayFilters)
        var document = vector.document
        var filter: Filter?
        if let query = operation["filter"]?.documentValue { filter = try Filter(query) }
        let description = try update.apply(to: &document, filter: filter, now: vector.now)
        guard operation["description"] == true else { return .document(document) }
        return [
            "updatedFields": .document(description.updatedFields),
            "removedFields": .array(description.removedFields.map { .string($0) }),
            "truncatedArrays": .array(
                description.truncatedArrays.map { ["field": .string($0.field), "newSize": .integer($0.newSize)] }),
        ]
    }

    private func upsert() throws(QueryError) -> Value {
        let update = try Update(operation["upsert"] ?? .null, arrayFilters: vector.arrayFilters)
        let filter = try Filter(operation["filter"]?.documentValue ?? Document())
        return .document(try update.upsertDocument(for: filter, now: vector.now) { "made" })
    }

    /// The value, or the text `missing`.
    private func expression() throws(QueryError) -> Value {
        let expression = try Expression(operation["expression"] ?? .null)
        return try expression.evaluate(EvaluationContext(root: vector.document, now: vector.now)) ?? "missing"
    }

    private func project() throws(QueryError) -> Value {
        let projection = try Projection(operation["project"]?.documentValue ?? Document())
        var filter: Filter?
        if let query = operation["filter"]?.documentValue { filter = try Filter(query) }
        return .document(try projection.apply(to: vector.document, filter: filter, now: vector.now))
    }

    /// The `_id`s in their order.
    private func sort() throws(QueryError) -> Value {
        var sorted = vector.documents
        try Sort(operation["sort"]?.documentValue ?? Document(), collation: collation()).sort(&sorted)
        return .array(sorted.map { $0.id ?? .null })
    }

    /// The results, in their order; the documents are given in small batches.
    private func pipeline() async throws -> Value {
        let pipeline = try Pipeline(operation["pipeline"] ?? .null)
        let collections = operation["collections"]?.documentValue ?? Document()
        let context = PipelineContext(now: vector.now, collation: try collation()) { collection, filter in
            try (collections[collection]?.arrayValue ?? []).compactMap(\.documentValue).filter {
                try filter.evaluate($0, now: vector.now)
            }
        }
        var run = PipelineRun(pipeline, context: context)
        var results: [Document] = []
        var rest = vector.documents[...]
        while !rest.isEmpty {
            results += try await run.process(Array(rest.prefix(2)))
            rest = rest.dropFirst(2)
        }
        results += try await run.finish()
        return .array(results.map { .document($0) })
    }
}
