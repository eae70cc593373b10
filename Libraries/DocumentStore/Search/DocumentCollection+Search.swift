import DocumentModel
import Foundation
import Postgres
import QueryLanguage

extension DocumentCollection {
    /// Runs a pipeline that begins with `$search`, `$searchMeta` or a `$match` with `$text`; `nil` for any other.
    func aggregateSearch(
        _ stages: [Document], collation: Document?, within limit: TimeLimit
    ) async throws -> [Document]? {
        guard let first = stages.first, first.count == 1, let field = first.fields.first,
            case .document(let options) = field.value
        else { return nil }
        let rest = stages.dropFirst().map { DocumentMetadata.rewritten($0) }
        switch field.key {
        case "$match":
            let parsed = try parse(options, collation: collation)
            guard parsed.text != nil else { return nil }
            let pipeline = try Self.pipeline(rest)
            guard let table = try await table() else { return try await run(pipeline, over: [], collation) }
            let found = try translation(of: parsed, on: table)
            let output = try ReadOutput(filter: parsed.filter, options: FindOptions(), hasScore: true)
            let sql = "select t.body, \(found.score ?? "0::float8") from \(table.name) t where \(found.condition.sql)"
            return try await run(pipeline, collation) { take in
                try await eachRow(sql, found.parameters, within: limit) { row in
                    guard let document = try output.document(of: row) else { return true }
                    return try await take(document)
                }
            }
        case "$search": return try await search(options, rest, collation, within: limit)
        case "$searchMeta":
            let pipeline = try Self.pipeline(rest)
            let search = try SearchSpecification(options, name: field.key)
            guard let table = try await table() else { return [] }
            try await ensure(search.extensions)
            return try await run(pipeline, over: [meta(search, on: table, within: limit)], collation)
        default: return nil
        }
    }

    private func search(
        _ options: Document, _ rest: [Document], _ collation: Document?, within limit: TimeLimit
    ) async throws -> [Document] {
        let search = try SearchSpecification(options, name: "$search")
        let order = search.sort.map { [DocumentMetadata.rewritten(["$sort": .document($0)])] } ?? []
        let pipeline = try Self.pipeline(order + rest, variables: ["SEARCH_META"])
        guard let table = try await table() else { return try await run(pipeline, over: [], collation) }
        try await ensure(search.extensions)
        var variables: [String: Value] = [:]
        // Counting is another look at all that is found: only for those who ask.
        if rest.contains(where: { Self.mentions("$$SEARCH_META", .document($0)) }) {
            variables["SEARCH_META"] = .document(try await meta(search, on: table, within: limit))
        }
        let output = try ReadOutput(filter: .all, options: FindOptions())
        let sql = """
            select t.body, \(search.score) as score from \(table.name) t where \(search.condition) order by score desc, t._id
            """
        return try await run(pipeline, collation, variables: variables) { take in
            try await eachRow(sql, search.parameters, within: limit) { row in
                guard var document = try output.document(of: row) else { return true }
                let highlights = search.highlights?.value(of: document)
                document[DocumentMetadata.searchScore.field] = .double(try row.decode(1))
                document[DocumentMetadata.searchHighlights.field] = highlights
                return try await take(document)
            }
        }
    }

    private static func mentions(_ name: String, _ value: Value) -> Bool {
        switch value {
        case .string(let text): text.hasPrefix(name)
        case .array(let elements): elements.contains { mentions(name, $0) }
        case .document(let document): document.fields.contains { mentions(name, $0.value) }
        default: false
        }
    }

    /// `{count: …, facet: …}`.
    private func meta(
        _ search: SearchSpecification, on table: CollectionTable, within limit: TimeLimit
    ) async throws -> Document {
        let counted = try await query(
            PostgresStatement("select count(*) from \(table.name) t where \(search.condition)", search.parameters),
            within: limit)
        let count = try counted.first?.decode(0, as: Int64.self) ?? 0
        var meta: Document = ["count": [search.countsTotal ? "total" : "lowerBound": .int64(count)]]
        var facets = Document()
        for facet in search.facets {
            let rows = try await query(
                PostgresStatement(facet.sql(table: table.name, condition: search.condition), search.parameters),
                within: limit)
            facets[facet.name] = try facet.buckets(rows)
        }
        if !facets.isEmpty { meta["facet"] = .document(facets) }
        return meta
    }

    /// Makes extensions of Postgres that a search needs.
    private func ensure(_ extensions: Set<String>) async throws {
        for name in extensions.sorted() {
            let present = try await query(PostgresStatement("select from pg_extension where extname = $1", [.text(name)]))
            if present.count > 0 { continue }
            do {
                try await store.client.execute("create extension if not exists \(name) schema public")
            } catch let error as PostgresError where !error.isUniqueViolation {
                throw DocumentStoreError(
                    .notSupported,
                    "$search: fuzzy needs Postgres' extension \(name), which can't be made here: an administrator has to "
                        + "(create extension \(name))", mongoCode: 115, underlying: error)
            }
        }
    }

    // MARK: The stages behind

    private static func pipeline(_ stages: [Document], variables: Set<String> = []) throws -> Pipeline {
        do {
            let pipeline = try Pipeline(stages, variables: variables)
            for case .output(let name, _) in pipeline.stages {
                throw DocumentStoreError(.notSupported, "\(name) behind a search is not supported", mongoCode: 115)
            }
            return pipeline
        } catch let error as QueryError {
            throw DocumentStoreError(query: error, .badFilter)
        }
    }

    private func run(_ pipeline: Pipeline, over documents: [Document], _ collation: Document?) async throws -> [Document] {
        try await run(pipeline, collation) { take in
            for document in documents { guard try await take(document) else { return } }
        }
    }

    /// Feeds a pipeline, until it wants no more.
    private func run(
        _ pipeline: Pipeline, _ collation: Document?, variables: [String: Value] = [:],
        _ source: ((Document) async throws -> Bool) async throws -> Void
    ) async throws -> [Document] {
        do {
            let context = PipelineContext(
                now: Int64(Date().timeIntervalSince1970 * 1000), variables: variables,
                collation: try collation.flatMap { try Collation($0) }, memoryLimit: Self.maximumCollectedBytes
            ) { name, filter in
                try await sibling(name).find(filter.document)
            }
            var run = PipelineRun(pipeline, context: context)
            var results: [Document] = []
            var batch: [Document] = []
            try await source { document in
                batch.append(document)
                guard batch.count == PipelineContext.batchSize else { return true }
                results += try await run.process(batch)
                batch.removeAll(keepingCapacity: true)
                return !run.isDone
            }
            results += try await run.process(batch)
            return (results + (try await run.finish())).map { DocumentMetadata.stripped($0) }
        } catch let error as QueryError {
            throw DocumentStoreError(query: error, .badFilter)
        }
    }
}
