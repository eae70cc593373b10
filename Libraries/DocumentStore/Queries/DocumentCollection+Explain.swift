public import DocumentModel
import Postgres
import QueryLanguage

extension DocumentCollection {
    /// How a `find` is carried out: what Postgres is asked, by which index, with its plan, and what is left to do here.
    ///
    /// `postgres` has a document for each statement (`statement`, `plan`), in the order in which they run; `exact` says whether
    /// Postgres finds nothing but what matches; `indexes` names those that conditions were made for; `here` names what is evaluated
    /// here (`filter`, `sort`, `projection`, `limit`).
    public func explain(_ filter: Document = [:], options: FindOptions = FindOptions()) async throws -> Document {
        guard let table = try await table() else { return missing }
        let parsed = try parse(filter, collation: options.collation)
        var here: [Value] = []
        if options.projection != nil { here.append("projection") }
        if parsed.text == nil, let sort = try Self.sort(options.sort, collation: parsed.filter.collation),
            let read = OrderedRead(
                sort, filter: parsed.filter, table: table, partitionKey: try store.storage(of: app).partitionKey,
                hint: try hinted(options.hint, on: table))
        {
            return try await explanation(
                (read.irregular.map { [$0] } ?? []) + read.regular, indexes: read.indexes, isExact: false,
                here: ["filter"] + here)
        }
        let found = try translation(of: parsed, on: table, hint: options.hint)
        let condition = found.condition
        if options.sort != nil || parsed.filter.nearness != nil { here.insert("sort", at: 0) }
        if !condition.isExact { here.insert("filter", at: 0) }
        var sql = "select t.body from \(table.name) t where \(condition.sql)"
        if condition.isExact, options.sort == nil, let limit = options.limit {
            sql += " limit \(limit) offset \(options.skip)"
        } else if options.limit != nil || options.skip > 0 {
            here.append("limit")
        }
        return try await explanation(
            [PostgresStatement(sql, found.parameters)], indexes: found.indexes, isExact: condition.isExact, here: here)
    }

    /// How a `countDocuments` is carried out; see ``explain(_:options:)``.
    public func explainCount(_ filter: Document = [:], options: FindOptions = FindOptions()) async throws -> Document {
        guard let table = try await table() else { return missing }
        let found = try translation(
            of: parse(filter, collation: options.collation), on: table, hint: options.hint)
        let condition = found.condition
        let what = condition.isExact ? "count(*)" : "t.body"
        return try await explanation(
            [PostgresStatement("select \(what) from \(table.name) t where \(condition.sql)", found.parameters)],
            indexes: found.indexes, isExact: condition.isExact, here: condition.isExact ? [] : ["filter", "count"])
    }

    /// How a pipeline is carried out: its beginning as ``explain(_:options:)`` has it, and under `here` the stages that are
    /// evaluated here, in their order.
    public func explainAggregate(_ stages: [Document], collation: Document? = nil) async throws -> Document {
        var rest = stages
        var explanation: Document
        switch stages.first?.fields.first.map({ ($0.key, $0.value) }) {
        case ("$match", .document(let filter))?:
            rest.removeFirst()
            explanation = try await explain(filter, options: FindOptions(collation: collation))
        case ("$search", .document(let options))?, ("$searchMeta", .document(let options))?:
            rest.removeFirst()
            guard let table = try await table() else { return missing }
            let search = try SearchSpecification(options)
            let sql = "select t.body, \(search.score) from \(table.name) t where \(search.condition)"
            explanation = try await self.explanation(
                [PostgresStatement(sql, search.parameters)], indexes: [], isExact: true, here: [])
        default:
            explanation = try await explain(options: FindOptions(collation: collation))
        }
        _ = try pipeline(rest.map { DocumentMetadata.rewritten($0) })
        let here = explanation["here"]?.arrayValue ?? []
        explanation["here"] = .array(here + rest.compactMap { $0.fields.first.map { .string($0.key) } })
        return explanation
    }

    private var missing: Document {
        [
            "namespace": .string("\(namespace.database).\(namespace.collection)"), "postgres": [], "indexes": [],
            "here": [],
        ]
    }

    /// The plans of statements, and what else there is to say.
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
