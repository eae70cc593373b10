import DocumentModel
import Postgres
import QueryLanguage

extension SearchCompiler {
    /// `exists`, `equals`, `in`, `range`: they either match or don't, with a constant score.
    mutating func values(_ name: String, _ options: Document) throws(DocumentStoreError) -> Part {
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
        var parts: [Part] = []
        for path in try paths(options, of: name) {
            let index = IndexModel([.init("_id")], partialFilter: [path: .document(condition)])
            do {
                parts.append(Part(condition: "(\(try IndexPredicate(index).sql ?? "true"))", score: "1"))
            } catch {
                throw SearchError.unsupported("\(name) at the path \(path), or with a value of this type")
            }
        }
        return parts.count == 1 ? parts[0] : Self.any(parts)
    }

    /// The path of an operator on values, or several.
    mutating func paths(_ options: Document, of name: String) throws(DocumentStoreError) -> [String] {
        let path = try path(options["path"], of: name)
        guard let paths = path.paths else { throw SearchError.unsupported("\(name) with a wildcard path") }
        return paths
    }

    mutating func compound(_ options: Document) throws(DocumentStoreError) -> Part {
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
        return combined(must: must, mustNot: mustNot, should: should, filter: filter, least: least)
    }

    /// - Parameter least: how many of `should` have to match.
    func combined(must: [Part], mustNot: [Part], should: [Part], filter: [Part] = [], least: Int) -> Part {
        var conditions =
            (must + filter).map { "(\($0.condition))" } + mustNot.map { "not coalesce((\($0.condition)), false)" }
        // Each condition stands in the whole only once, or nested ones would double its size at each level.
        if least == 1 {
            conditions.append("(" + should.map { "(\($0.condition))" }.joined(separator: " or ") + ")")
        } else if least > 1 {
            let met = should.map { "(coalesce((\($0.condition)), false))::int" }.joined(separator: " + ")
            conditions.append("\(met) >= \(least)")
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
