import DocumentModel
import Postgres
import QueryLanguage

extension DocumentCollection {
    /// Runs a pipeline that begins with `$search`, `$searchMeta` or a `$match` with `$text`.
    ///
    /// - Returns: `false` for any other pipeline, which isn't run.
    func search(
        _ stages: [Document], options given: AggregateOptions, within limit: TimeLimit,
        _ body: (Document) async throws -> Bool
    ) async throws -> Bool {
        let collation = given.collation
        guard let first = stages.first, first.count == 1, let field = first.fields.first,
            case .document(let options) = field.value
        else { return false }
        let rest = stages.dropFirst().map { DocumentMetadata.rewritten($0) }
        func stripped(_ document: Document) async throws -> Bool { try await body(DocumentMetadata.stripped(document)) }
        switch field.key {
        case "$match":
            let parsed = try parse(options, collation: collation, variables: given.variables)
            guard parsed.text != nil else { return false }
            let constants = try constants(given.variables)
            let pipeline = try pipeline(rest, variables: Set(constants.keys))
            let table = try await table()
            let output = try ReadOutput(filter: parsed.filter, options: FindOptions(), now: now, hasScore: true)
            try await run(pipeline, collation: collation, variables: constants, within: limit, stripped) { take in
                guard let table else { return }
                let found = try translation(of: parsed, on: table, hint: given.hint)
                let natural = try naturalRead(
                    found, of: parsed.filter, in: table, hint: given.hint, order: .forward)
                let statement = natural.statement("t.body, \(found.score ?? "0::float8")")
                try await eachRow(statement, within: limit) { row in
                    guard let document = try output.document(of: row) else { return true }
                    return try await take(document)
                }
            }
        case "$search":
            let constants = try constants(given.variables)
            try await search(options, rest, collation, constants, within: limit, stripped)
        case "$searchMeta":
            let pipeline = try pipeline(rest)
            let search = try SearchSpecification(options)
            let table = try await table()
            try await ensure(search.extensions)
            try await run(pipeline, collation: collation, within: limit, stripped) { take in
                guard let table else { return }
                _ = try await take(meta(search, on: table, within: limit))
            }
        default: return false
        }
        return true
    }

    private func search(
        _ options: Document, _ rest: [Document], _ collation: Document?, _ constants: [ExactText: Value],
        within limit: TimeLimit,
        _ body: (Document) async throws -> Bool
    ) async throws {
        let search = try SearchSpecification(options)
        let order = search.sort.map { [DocumentMetadata.rewritten(["$sort": .document($0)])] } ?? []
        let pipeline = try pipeline(order + rest, variables: Set(constants.keys).union(["SEARCH_META"]))
        let table = try await table()
        try await ensure(search.extensions)
        var variables = constants
        // Counting reads all matches again, so it is done only if the pipeline uses the count.
        if let table, rest.contains(where: { Self.mentions("$$SEARCH_META", .document($0)) }) {
            variables["SEARCH_META"] = .document(try await meta(search, on: table, within: limit))
        }
        let output = try ReadOutput(filter: .all, options: FindOptions(), now: now)
        try await run(pipeline, collation: collation, variables: variables, within: limit, body) { take in
            guard let table else { return }
            let sql = """
                select t.body, \(search.score) as score from \(table.name) t where \(search.condition)
                order by score desc, t.natural_order
                """
            try await eachRow(PostgresStatement(sql, search.parameters), within: limit) { row in
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

    /// The metadata of a search: `{count: …, facet: …}`.
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

    /// Creates the extensions of Postgres that a search needs.
    private func ensure(_ extensions: Set<String>) async throws {
        for name in extensions.sorted() {
            let present = try await query(
                PostgresStatement("select from pg_extension where extname = $1", [.text(name)]))
            if present.count > 0 { continue }
            do {
                try await store.client.execute("create extension if not exists \(name) schema public")
            } catch let error as PostgresError where !error.isUniqueViolation {
                throw DocumentStoreError(
                    .notSupported,
                    "$search: fuzzy needs Postgres' extension \(name), which can't be created here: an administrator has to "
                        + "(create extension \(name))", mongoCode: 115, underlying: error)
            }
        }
    }
}
