import DocumentModel
import Postgres
import QueryLanguage

extension DocumentCollection {
    /// Passes the documents that a `$search` finds to `body`, the best first, without applying the search's sort.
    ///
    /// - Parameter body: gets a document and its score, and returns whether to continue.
    /// - Throws: `DocumentStoreError` with MongoDB's code.
    package func forEachFound(
        by search: SearchSpecification, options: AggregateOptions,
        _ body: (Document, Double) async throws -> Bool
    ) async throws {
        let limit = TimeLimit(options.maxTimeMS)
        try await limit.run {
            guard let table = try await table() else { return }
            try await ensure(search.extensions)
            try await forEachFound(by: search, in: table, within: limit, body)
        }
    }

    private func forEachFound(
        by search: SearchSpecification, in table: CollectionTable, within limit: TimeLimit,
        _ body: (Document, Double) async throws -> Bool
    ) async throws {
        let output = try ReadOutput(filter: .all, options: FindOptions(), now: now)
        let sql = """
            select t.body, \(search.score) as score from \(table.name) t where \(search.condition)
            order by score desc, t.natural_order
            """
        try await eachRow(PostgresStatement(sql, search.parameters), within: limit) { row in
            guard let document = try output.document(of: row) else { return true }
            return try await body(document, row.decode(1))
        }
    }

    /// Runs a pipeline that begins with `$search`, `$searchBeta`, `$searchMeta` or a `$match` with `$text`.
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
        let rest = Array(stages.dropFirst())
        func stripped(_ document: Document) async throws -> Bool { try await body(DocumentMetadata.stripped(document)) }
        switch field.key {
        case "$match":
            let parsed = try parse(options, collation: collation, variables: given.variables)
            guard parsed.text != nil else { return false }
            let constants = try constants(given.variables)
            let pipeline = try pipeline(
                rest.map { DocumentMetadata.rewritten($0) }, variables: Set(constants.keys))
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
        case "$search", "$searchBeta":
            let constants = try constants(given.variables)
            try await search(options, rest, collation, constants, within: limit, stripped)
        case "$searchMeta":
            let constants = try constants(given.variables)
            let pipeline = try pipeline(rest, variables: Set(constants.keys))
            let search = try SearchSpecification(options)
            let table = try await table()
            try await ensure(search.extensions)
            try await run(pipeline, collation: collation, variables: constants, within: limit, stripped) { take in
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
        let stages = search.stages(before: rest)
        let pipeline = try pipeline(stages, variables: Set(constants.keys).union([SearchSpecification.variable]))
        let table = try await table()
        try await ensure(search.extensions)
        var variables = constants
        if SearchSpecification.needsCount(stages) {
            variables[SearchSpecification.variable] = .document(try await meta(search, on: table, within: limit))
        }
        try await run(pipeline, collation: collation, variables: variables, within: limit, body) { take in
            guard let table else { return }
            try await forEachFound(by: search, in: table, within: limit) { document, score in
                try await take(search.annotated(document, score: score))
            }
        }
    }

    /// The metadata of a search: `{count: …, facet: …}`.
    private func meta(
        _ search: SearchSpecification, on table: CollectionTable?, within limit: TimeLimit
    ) async throws -> Document {
        guard let table else { return search.count.result }
        let counted = try await query(
            PostgresStatement("select count(*) from \(table.name) t where \(search.condition)", search.parameters),
            within: limit)
        let count = try counted.first?.decode(0, as: Int64.self) ?? 0
        var facets: [(name: String, buckets: Value)] = []
        for facet in search.facets {
            let rows = try await query(
                PostgresStatement(facet.sql(table: table.name, condition: search.condition), search.parameters),
                within: limit)
            facets.append((facet.name, facet.buckets(try rows.map { try $0.decode((String, Int64).self) })))
        }
        return SearchCount.result(search.countName, count, facets)
    }

    private func ensure(_ extensions: Set<String>) async throws {
        for name in extensions.sorted() {
            try await PostgresExtension.ensure(name, for: "$search: fuzzy", on: store.client)
        }
    }
}
