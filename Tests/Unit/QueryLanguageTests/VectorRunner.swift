import DocumentModel
import QueryLanguage

/// Performs one case of a vector file.
struct VectorRunner {
    let vector: Document
    private let given: Value
    private let operation: Document

    init(vector: Document) throws {
        self.vector = vector
        given = vector["given"] ?? .null
        operation = vector["operation"]?.documentValue ?? Document()
    }

    private var now: Int64 { operation["now"]?.dateValue ?? 1_600_000_000_000 }

    private func documents() -> [Document] { given.arrayValue?.compactMap(\.documentValue) ?? [] }

    func run() async throws -> Value {
        let first = operation.fields.first?.key
        switch first {
        case "filter" where operation["update"] == nil && operation["replace"] == nil: return try filter()
        case "update", "filter": return try update()
        case "upsert": return try upsert()
        case "expression": return try expression()
        case "project": return try project()
        case "sort": return try sort()
        case "pipeline": return try await pipeline()
        default: throw QueryError(code: -2, message: "the case has an unknown operation")
        }
    }

    private func collation() throws -> Collation? {
        try operation["collation"]?.documentValue.flatMap { try Collation($0) }
    }

    /// The `_id`s of the documents that match, or whether the one document does.
    private func filter() throws -> Value {
        let filter = try Filter(operation["filter"]?.documentValue ?? Document(), collation: collation())
        if case .document(let document) = given { return .bool(try filter.evaluate(document, now: now)) }
        return .array(try documents().filter { try filter.evaluate($0, now: now) }.map { $0.id ?? .null })
    }

    private func parsedUpdate(_ value: Value) throws -> Update {
        try Update(value, arrayFilters: operation["arrayFilters"]?.arrayValue?.compactMap(\.documentValue) ?? [])
    }

    /// The document after the update; with `description: true` what a change stream shows.
    private func update() throws -> Value {
        let update = try parsedUpdate(operation["update"] ?? .null)
        var document = given.documentValue ?? Document()
        let filter = try operation["filter"]?.documentValue.map { try Filter($0) }
        let description = try update.apply(to: &document, filter: filter, now: now)
        guard operation["description"] == true else { return .document(document) }
        return [
            "updatedFields": .document(description.updatedFields),
            "removedFields": .array(description.removedFields.map { .string($0) }),
            "truncatedArrays": .array(
                description.truncatedArrays.map { ["field": .string($0.field), "newSize": .integer($0.newSize)] }),
        ]
    }

    private func upsert() throws -> Value {
        let update = try parsedUpdate(operation["upsert"] ?? .null)
        let filter = try Filter(operation["filter"]?.documentValue ?? Document())
        return .document(try update.upsertDocument(for: filter, now: now) { "made" })
    }

    /// The value, or the text `missing`.
    private func expression() throws -> Value {
        let expression = try Expression(operation["expression"] ?? .null)
        return try expression.evaluate(EvaluationContext(root: given.documentValue ?? Document(), now: now))
            ?? "missing"
    }

    private func project() throws -> Value {
        let projection = try Projection(operation["project"]?.documentValue ?? Document())
        let filter = try operation["filter"]?.documentValue.map { try Filter($0) }
        return .document(try projection.apply(to: given.documentValue ?? Document(), filter: filter, now: now))
    }

    /// The `_id`s in their order.
    private func sort() throws -> Value {
        var sorted = documents()
        try Sort(operation["sort"]?.documentValue ?? Document(), collation: collation()).sort(&sorted)
        return .array(sorted.map { $0.id ?? .null })
    }

    /// The results, in their order; the documents are given in small batches.
    private func pipeline() async throws -> Value {
        let pipeline = try Pipeline(operation["pipeline"] ?? .null)
        let collections = operation["collections"]?.documentValue ?? Document()
        let context = PipelineContext(now: now, collation: try collation()) { collection, filter in
            try (collections[collection]?.arrayValue ?? []).compactMap(\.documentValue).filter {
                try filter.evaluate($0)
            }
        }
        var run = PipelineRun(pipeline, context: context)
        var results: [Document] = []
        var rest = documents()[...]
        while !rest.isEmpty {
            results += try await run.process(Array(rest.prefix(2)))
            rest = rest.dropFirst(2)
        }
        results += try await run.finish()
        return .array(results.map { .document($0) })
    }
}
