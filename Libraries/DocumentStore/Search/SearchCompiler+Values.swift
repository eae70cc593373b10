import DocumentModel
import Postgres
import QueryLanguage

extension SearchCompiler {
    /// `exists`, `equals`, `in`, `range`: they either match or don't, with a constant score.
    mutating func values(_ name: String, _ options: Document) throws(DocumentStoreError) -> Part {
        guard let path = options["path"]?.stringValue else { throw SearchError.wrong("\"\(name).path\" is required") }
        depend(on: path)
        var condition = Document()
        switch name {
        case "exists": condition["$exists"] = true
        case "equals":
            guard let value = options["value"] else { throw SearchError.wrong("\"equals.value\" is required") }
            condition["$eq"] = value
        case "in":
            guard let value = options["value"] else { throw SearchError.wrong("\"in.value\" is required") }
            condition["$in"] = .array(value.arrayValue ?? [value])
        default:
            for bound in ["gt", "gte", "lt", "lte"] { condition["$" + bound] = options[bound] }
            if condition.isEmpty { throw SearchError.wrong("\"range\" needs one of gt, gte, lt, lte") }
        }
        let index = IndexModel([.init("_id")], partialFilter: [path: .document(condition)])
        do {
            return Part(condition: "(\(try IndexPredicate(index).sql ?? "true"))", score: "1")
        } catch {
            throw error.code == .notSupported ? SearchError.unsupported("\(name) with a value of this type") : error
        }
    }

    /// `near`: the nearer a number or date is to the origin, the higher its score: `pivot / (pivot + distance)`.
    mutating func near(_ options: Document) throws(DocumentStoreError) -> Part {
        guard let path = options["path"]?.stringValue, let pivot = options["pivot"]?.doubleValue, pivot > 0,
            pivot.isFinite, let origin = options["origin"]
        else { throw SearchError.wrong("\"near\" needs a path, an origin and a positive pivot") }
        depend(on: path)
        let place = "$" + IndexPredicate.steps(Path(path))
        let found: String
        let center: Double
        switch origin {
        case .date(let milliseconds):
            center = Double(milliseconds)
            found = place + ".\"$date\" ? (@.type() == \"number\")"
        case .int32, .int64, .double, .decimal128:
            guard let number = origin.doubleValue, number.isFinite else {
                throw SearchError.wrong("\"near.origin\" must be finite")
            }
            center = number
            found = place + " ? (@.type() == \"number\")"
        default: throw SearchError.unsupported("near with an origin that is no number and no date")
        }
        let value = "jsonb_path_query_first(document, \(FilterTranslation.literal(found))::jsonpath)::float8"
        return Part(
            condition: "\(value) is not null",
            score: "\(pivot)::float8 / (\(pivot)::float8 + abs(\(value) - (\(center))::float8))")
    }

    mutating func compound(_ options: Document) throws(DocumentStoreError) -> Part {
        let known = ["must", "mustNot", "should", "filter", "minimumShouldMatch", "score"]
        if let other = options.fields.first(where: { !known.contains($0.key) }) {
            throw SearchError.wrong("unrecognized field \"compound.\(other.key)\"")
        }
        let must = try clauses(options, "must")
        let mustNot = try clauses(options, "mustNot")
        let should = try clauses(options, "should")
        let filter = try clauses(options, "filter")
        guard !(must + mustNot + should + filter).isEmpty else {
            throw SearchError.wrong("\"compound\" needs at least one clause")
        }
        let least =
            options["minimumShouldMatch"]?.intValue ?? (must.isEmpty && filter.isEmpty && !should.isEmpty ? 1 : 0)
        guard (0...should.count).contains(least) else {
            throw SearchError.wrong(
                "\"compound.minimumShouldMatch\" cannot be greater than the number of should clauses")
        }
        var conditions =
            (must + filter).map { "(\($0.condition))" } + mustNot.map { "not coalesce((\($0.condition)), false)" }
        if least > 0 {
            let met = should.map { "(coalesce((\($0.condition)), false))::int" }.joined(separator: " + ")
            conditions.append("\(met) >= \(least)")
            // At least one `should` clause has to match; the condition says so, so that an index may be used.
            conditions.append("(" + should.map { "(\($0.condition))" }.joined(separator: " or ") + ")")
        }
        let scores =
            must.map { "coalesce((\($0.score))::float8, 0)" }
            + should.map { "case when \($0.condition) then (\($0.score))::float8 else 0 end" }
        // The conditions contain all parameters, so that a count without scores has them too.
        if least == 0, !should.isEmpty {
            conditions.append("((" + should.map { "(\($0.condition))" }.joined(separator: " or ") + ") or true)")
        }
        return Part(
            condition: conditions.isEmpty ? "true" : conditions.joined(separator: " and "),
            score: scores.isEmpty ? "0" : "(" + scores.joined(separator: " + ") + ")")
    }

    private mutating func clauses(_ options: Document, _ name: String) throws(DocumentStoreError) -> [Part] {
        guard let value = options[name] else { return [] }
        var parts: [Part] = []
        for element in value.arrayValue ?? [value] {
            guard case .document(let clause) = element else {
                throw SearchError.wrong("\"compound.\(name)\" must be documents")
            }
            parts.append(try compile(clause))
        }
        return parts
    }
}
