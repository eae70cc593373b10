public import DocumentModel
import Postgres
import QueryLanguage

extension DocumentCollection {
    /// How a `find` is carried out: the statements for Postgres with their plans, the indexes, and what is evaluated in this
    /// process.
    ///
    /// `postgres` has a document for each statement (`statement`, `plan`), in the order in which they run; `exact` says whether
    /// Postgres finds nothing but what matches; `indexes` names the indexes that conditions were built for; `here` names what is
    /// evaluated here (`filter`, `sort`, `projection`, `limit`).
    public func explain(_ filter: Document = [:], options: FindOptions = FindOptions()) async throws -> Document {
        let parsed = try parse(filter, options)
        guard let table = try await table() else { return missing }
        var here: [Value] = []
        if options.projection != nil { here.append("projection") }
        if parsed.text == nil, let sort = try Self.sort(options.sort, collation: parsed.filter.collation),
            let read = OrderedRead(
                sort, filter: parsed.filter, table: table,
                partitionKey: try store.storage(of: app).partitionKey(of: table.namespace),
                hint: try hinted(options.hint, on: table))
        {
            return try await explanation(
                (read.irregular.map { [$0] } ?? []) + read.regular, indexes: read.indexes, isExact: false,
                here: (filter.isEmpty ? [] : ["filter"]) + here)
        }
        let found = try translation(of: parsed, on: table, hint: options.hint)
        let condition = found.condition
        if let sort = try Self.sort(options.sort, collation: parsed.filter.collation),
            let read = try topRead(sort, of: parsed, on: table, options: options)
        {
            return try await explanation(
                [read.statement], indexes: found.indexes, isExact: condition.isExact,
                here: (condition.isExact ? [] : ["filter"]) + here)
        }
        let natural = try naturalRead(
            found, of: parsed.filter, in: table, hint: options.hint, order: options.natural)
        if let read = try idRead(natural, found, of: parsed.filter, on: table, options: options) {
            return try await explanation(
                (read.irregular.map { [$0] } ?? []) + read.regular, indexes: read.indexes, isExact: false,
                here: ["filter"] + here)
        }
        if options.sort != nil || parsed.filter.nearness != nil { here.insert("sort", at: 0) }
        if !condition.isExact { here.insert("filter", at: 0) }
        var statement = natural.statement("t.body")
        if condition.isExact, options.sort == nil, let limit = options.limit {
            statement = natural.statement("t.body", limit: limit, offset: options.skip)
        } else if options.limit != nil || options.skip > 0 {
            here.append("limit")
        }
        return try await explanation(
            [statement], indexes: found.indexes, isExact: condition.isExact, here: here)
    }

    /// Whether an index returns the documents of a `find` in the order of its sort, so that reading the first of them doesn't read
    /// the others.
    public func hasIndexedOrder(_ filter: Document, options: FindOptions) async throws -> Bool {
        guard let table = try await table() else { return false }
        let parsed = try parse(filter, options)
        guard parsed.text == nil, let sort = try Self.sort(options.sort, collation: parsed.filter.collation) else {
            return false
        }
        return OrderedRead(
            sort, filter: parsed.filter, table: table,
            partitionKey: try store.storage(of: app).partitionKey(of: table.namespace),
            hint: try hinted(options.hint, on: table)) != nil
    }

    /// How a `countDocuments` is carried out; see ``explain(_:options:)``.
    public func explainCount(_ filter: Document = [:], options: FindOptions = FindOptions()) async throws -> Document {
        guard let table = try await table() else { return missing }
        let found = try translation(
            of: parse(filter, options), on: table, hint: options.hint, tellingDoubt: true)
        let condition = found.condition
        if condition.isExact || found.doubt != nil {
            return try await explanation(
                [Self.counting(found, in: table)], indexes: found.indexes, isExact: condition.isExact, here: [])
        }
        return try await explanation(
            [PostgresStatement("select t.body from \(table.name) t where \(condition.sql)", found.parameters)],
            indexes: found.indexes, isExact: false, here: ["filter", "count"])
    }

    /// How a pipeline is carried out.
    ///
    /// As ``explain(_:options:)``, with an additional `stages`, which says for each stage where it is evaluated (`in`): `postgres`;
    /// `here` over the documents as they arrive; `both` if Postgres finds the candidates and the filter is applied here.
    public func explainAggregate(
        _ stages: [Document], options: AggregateOptions = AggregateOptions()
    ) async throws -> Document {
        let stages = try await namingPlace(in: stages)
        let names = stages.map { $0.keys.first ?? "" }
        var explanation: Document
        let leading: [String]
        if let search = try await explainSearch(stages, options: options) {
            let constants = Set(texts: options.variables.keys)
            _ = try pipeline(
                stages.dropFirst().map { DocumentMetadata.rewritten($0) },
                variables: constants.union([SearchSpecification.variable]))
            explanation = search
            leading = ["postgres"]
        } else {
            let pipeline = try pipeline(stages, variables: Set(texts: options.variables.keys))
            if let grouping = try await grouping(stages, options: options) {
                explanation = try await self.explanation(
                    [grouping.statement], indexes: grouping.indexes, isExact: true, here: [])
                leading = Array(repeating: "postgres", count: grouping.count)
            } else if case .documents? = pipeline.stages.first {
                explanation = missing
                leading = []
            } else {
                let found = LeadingStages(of: pipeline)
                explanation = try await explain(found.filter, options: found.options(options))
                let here = Set(explanation["here"]?.arrayValue?.compactMap(\.stringValue) ?? [])
                leading = names.prefix(found.count).map { Self.place(of: $0, here: here) }
            }
        }
        explanation["here"] = nil
        explanation["stages"] = .array(
            names.enumerated().map { place, name in
                ["stage": .string(name), "in": .string(place < leading.count ? leading[place] : "here")]
            })
        return explanation
    }

    /// Where a leading stage is evaluated, derived from the parts of the find that are evaluated here.
    private static func place(of stage: String, here: Set<String>) -> String {
        switch stage {
        case "$match": here.contains("filter") ? "both" : "postgres"
        case "$sort": here.contains("sort") ? "here" : "postgres"
        default: here.contains("limit") ? "here" : "postgres"
        }
    }

    /// The explanation of a pipeline that begins with a search; `nil` for any other.
    private func explainSearch(_ stages: [Document], options: AggregateOptions) async throws -> Document? {
        switch stages.first?.fields.first.map({ ($0.key, $0.value) }) {
        case ("$match", .document(let filter))?:
            guard try parse(filter, collation: options.collation, variables: options.variables).text != nil else {
                return nil
            }
            return try await explain(
                filter,
                options: FindOptions(collation: options.collation, hint: options.hint, variables: options.variables))
        case (let name, .document(let search))? where SearchSpecification.stages.contains(name):
            let search = try SearchSpecification(search)
            guard let table = try await table() else { return missing }
            let sql = "select t.body, \(search.score) from \(table.name) t where \(search.condition)"
            return try await explanation(
                [PostgresStatement(sql, search.parameters)], indexes: [], isExact: true, here: [])
        default: return nil
        }
    }

    private var missing: Document {
        [
            "namespace": .string("\(namespace.database).\(namespace.collection)"), "postgres": [], "indexes": [],
            "here": [],
        ]
    }

    /// The explanation with the plans of the statements.
    func explanation(
        _ statements: [PostgresStatement], indexes: [String], isExact: Bool, here: [Value]
    ) async throws -> Document {
        var parts: [Value] = []
        for statement in statements {
            let plan = try await query(
                PostgresStatement("explain \(statement.sql)", statement.parameters, isPrepared: false))
            parts.append([
                "statement": .string(statement.sql), "plan": .array(try plan.map { .string(try $0.decode(0)) }),
            ])
        }
        return [
            "namespace": .string("\(namespace.database).\(namespace.collection)"), "postgres": .array(parts),
            "exact": .bool(isExact), "indexes": .array(indexes.map(Value.string)), "here": .array(here),
        ]
    }
}
