import DocumentModel
import Postgres

/// A compiled `$search` or `$searchMeta`.
struct SearchSpecification: Sendable {
    let condition: String
    let score: String
    let parameters: [PostgresValue]
    let extensions: Set<String>
    let highlights: SearchHighlights?
    let facets: [SearchFacet]
    /// Whether the count is named `total`; otherwise `lowerBound`.
    let countsTotal: Bool
    /// The sort; `nil` for the order of the scores.
    let sort: Document?

    init(_ specification: Document) throws(DocumentStoreError) {
        var operators = specification
        // `index` is ignored, since all texts of the collection can be searched.
        for key in ["index", "concurrent", "count", "highlight", "sort", "tracking"] { operators[key] = nil }
        for key in ["scoreDetails", "returnStoredSource", "searchAfter", "searchBefore", "returnScope"] {
            if let value = operators[key], value.boolValue != false { throw SearchError.unsupported(key) }
            operators[key] = nil
        }
        var facets: [SearchFacet] = []
        var compiler = SearchCompiler()
        var part = SearchCompiler.Part(condition: "true", score: "1")
        if case .document(let facet)? = operators["facet"] {
            guard operators.count == 1 else { throw SearchError.wrong("\"facet\" stands alone") }
            guard case .document(let wanted)? = facet["facets"], !wanted.isEmpty else {
                throw SearchError.wrong("\"facet.facets\" is required")
            }
            for field in wanted.fields { facets.append(try SearchFacet(field.key, field.value)) }
            if case .document(let inner)? = facet["operator"] { part = try compiler.compile(inner) }
        } else {
            guard operators.count == 1 else {
                throw SearchError.wrong(
                    operators.isEmpty
                        ? "one of \(SearchCompiler.operators.joined(separator: ", ")) is required"
                        : "unrecognized field \"\(operators.fields[operators.count - 1].key)\" beside the operator")
            }
            part = try compiler.compile(operators)
        }
        condition = part.condition
        score = "(\(part.score))::float8"
        parameters = compiler.parameters
        extensions = compiler.extensions
        self.facets = facets
        countsTotal = specification["count"]?["type"]?.stringValue == "total"
        sort = specification["sort"]?.documentValue
        if case .document(let options)? = specification["highlight"] {
            highlights = try SearchHighlights(options, terms: compiler.terms)
        } else {
            highlights = nil
        }
    }
}

/// One facet of `$searchMeta`.
struct SearchFacet: Sendable {
    let name: String
    private let path: String
    private let kind: String
    private let most: Int
    private let boundaries: [Value]
    private let otherwise: String?

    init(_ name: String, _ value: Value) throws(DocumentStoreError) {
        self.name = name
        guard let path = value["path"]?.stringValue, let kind = value["type"]?.stringValue else {
            throw SearchError.wrong("\"facets.\(name)\" needs a type and a path")
        }
        guard ["string", "number", "date"].contains(kind) else {
            throw SearchError.unsupported("a facet of type \(kind)")
        }
        self.path = path
        self.kind = kind
        most = value["numBuckets"]?.intValue ?? 10
        boundaries = value["boundaries"]?.arrayValue ?? []
        otherwise = value["default"]?.stringValue
        guard kind == "string" ? (1...1000).contains(most) : (2...1000).contains(boundaries.count) else {
            throw SearchError.wrong("\"facets.\(name)\" needs numBuckets within 1 and 1000, or at least two boundaries")
        }
    }

    /// The statement that returns each bucket with its number of documents. With boundaries, buckets are numbered from 1; 0 and the
    /// last number are outside of the boundaries.
    func sql(table: String, condition: String) -> String {
        let place = "$" + IndexPredicate.steps(Path(path)) + (kind == "date" ? "[*].\"$date\"" : "[*]")
        let values = """
            \(table) t, lateral (
                select distinct v from jsonb_path_query(document, \(FilterTranslation.literal(place))::jsonpath) v
                where jsonb_typeof(v) = '\(kind == "string" ? "string" : "number")'
            ) f where \(condition)
            """
        if kind == "string" {
            return "select v #>> '{}', count(*) from \(values) group by 1 order by 2 desc, 1 limit \(most)"
        }
        let bounds = boundaries.map { "\(Self.number($0))" }.joined(separator: ",")
        return "select width_bucket(v::float8, '{\(bounds)}'::float8[])::text, count(*) from \(values) group by 1"
    }

    func buckets(_ rows: PostgresRows) throws -> Value {
        var counts: [ExactText: Int64] = [:]
        var order: [String] = []
        for row in rows {
            let (key, count) = try row.decode((String, Int64).self)
            counts[key] = count
            order.append(key)
        }
        if kind == "string" {
            return ["buckets": .array(order.map { ["_id": .string($0), "count": .int64(counts[$0] ?? 0)] })]
        }
        var buckets: [Value] = boundaries.dropLast().enumerated().map { place, bound in
            ["_id": bound, "count": .int64(counts["\(place + 1)"] ?? 0)]
        }
        if let otherwise {
            let rest = (counts["0"] ?? 0) + (counts["\(boundaries.count)"] ?? 0)
            buckets.append(["_id": .string(otherwise), "count": .int64(rest)])
        }
        return ["buckets": .array(buckets)]
    }

    private static func number(_ bound: Value) -> Double {
        if case .date(let milliseconds) = bound { return Double(milliseconds) }
        return bound.doubleValue ?? 0
    }
}
