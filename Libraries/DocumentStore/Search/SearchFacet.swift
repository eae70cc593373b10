import DocumentModel
import Postgres

/// One facet of `$searchMeta`: how many found documents have each text, or a number or date between two boundaries, at a path.
///
/// A document is counted once for each different value that it has there. Postgres does so for a whole collection (`sql`); `keys`
/// does the same for one document.
struct SearchFacet: Sendable {
    private enum Kind: String {
        case string, number, date
    }

    let name: String
    private let path: String
    private let kind: Kind
    private let most: Int
    private let boundaries: [Value]
    private let bounds: [Double]
    private let otherwise: String?

    init(_ name: String, _ value: Value) throws(DocumentStoreError) {
        self.name = name
        guard let path = value["path"]?.stringValue, let type = value["type"]?.stringValue else {
            throw SearchError.wrong("\"facets.\(name)\" needs a type and a path")
        }
        guard let kind = Kind(rawValue: type) else { throw SearchError.unsupported("a facet of type \(type)") }
        self.path = path
        self.kind = kind
        most = value["numBuckets"]?.intValue ?? 10
        boundaries = value["boundaries"]?.arrayValue ?? []
        otherwise = value["default"]?.stringValue
        guard kind == .string ? (1...1000).contains(most) : (2...1000).contains(boundaries.count) else {
            throw SearchError.wrong("\"facets.\(name)\" needs numBuckets within 1 and 1000, or at least two boundaries")
        }
        let bounds = boundaries.compactMap { Self.number($0, kind) }
        guard bounds.count == boundaries.count, zip(bounds, bounds.dropFirst()).allSatisfy({ $0 < $1 }) else {
            throw SearchError.wrong("\"facets.\(name).boundaries\" must be ascending \(type)s")
        }
        self.bounds = bounds
    }

    /// The statement that returns the key of each bucket with its number of documents. With boundaries, buckets are numbered from 1;
    /// 0 and the last number are outside of the boundaries.
    func sql(table: String, condition: String) -> String {
        let place = "$" + IndexPredicate.steps(Path(path)) + (kind == .date ? "[*].\"$date\"" : "[*]")
        let values = """
            \(table) t, lateral (
                select distinct v from jsonb_path_query(document, \(FilterTranslation.literal(place))::jsonpath) v
                where jsonb_typeof(v) = '\(kind == .string ? "string" : "number")'
            ) f where \(condition)
            """
        if kind == .string {
            return """
                select v #>> '{}' collate "C", count(*) from \(values) group by 1 order by 2 desc, 1 limit \(most)
                """
        }
        let bounds = bounds.map { "\($0)" }.joined(separator: ",")
        return "select width_bucket(v::float8, '{\(bounds)}'::float8[])::text, count(*) from \(values) group by 1"
    }

    /// The keys of the buckets in which a document is counted, as the statement returns them.
    func keys(of document: Document) -> [ExactText] {
        let values = Self.values(.document(document), at: Path(path).components.map(\.name)[...])
        switch kind {
        case .string: return Array(Set(values.compactMap { $0.stringValue.map { ExactText($0) } }))
        case .number, .date:
            let numbers = Set(values.compactMap { Self.number($0, kind) })
            return numbers.map { number in "\(bounds.count { $0 <= number })" }
        }
    }

    /// The values at a path; arrays on the way are searched, and the elements of the last one are the values.
    private static func values(_ value: Value, at path: ArraySlice<String>) -> [Value] {
        guard let name = path.first else { return value.arrayValue ?? [value] }
        switch value {
        case .document(let document): return document[name].map { values($0, at: path.dropFirst()) } ?? []
        case .array(let elements):
            return elements.flatMap { $0.documentValue == nil ? [] : values($0, at: path) }
        default: return []
        }
    }

    /// - Parameter counts: the keys with their numbers of documents, the largest number first.
    func buckets(_ counts: [(key: String, count: Int64)]) -> Value {
        if kind == .string {
            return [
                "buckets": .array(counts.prefix(most).map { ["_id": .string($0.key), "count": .int64($0.count)] })
            ]
        }
        func count(_ place: Int) -> Int64 { counts.first { $0.key.hasSameBytes(as: "\(place)") }?.count ?? 0 }
        var buckets: [Value] = boundaries.dropLast().enumerated().map { place, bound in
            ["_id": bound, "count": .int64(count(place + 1))]
        }
        if let otherwise {
            buckets.append(["_id": .string(otherwise), "count": .int64(count(0) + count(boundaries.count))])
        }
        return ["buckets": .array(buckets)]
    }

    /// A number or a date as the facet compares them; `nil` for other values.
    private static func number(_ value: Value, _ kind: Kind) -> Double? {
        switch (kind, value) {
        case (.date, .date(let milliseconds)): Double(milliseconds)
        case (.number, .int32), (.number, .int64), (.number, .double):
            value.doubleValue.flatMap { $0.isFinite ? $0 : nil }
        default: nil
        }
    }
}
