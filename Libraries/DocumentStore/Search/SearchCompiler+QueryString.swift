import DocumentModel
import QueryLanguage

extension SearchCompiler {
    /// `queryString`: a query in Lucene's language; see `LuceneQuery`.
    mutating func queryString(_ options: Document) throws(DocumentStoreError) -> Part {
        guard let path = options["defaultPath"]?.stringValue, !path.isEmpty else {
            throw SearchError.wrong("\"queryString.defaultPath\" is required")
        }
        guard let text = options["query"]?.stringValue, !text.utf8.contains(0) else {
            throw SearchError.wrong("\"queryString.query\" is required, a string without U+0000")
        }
        return try compile(LuceneQuery(parsing: text), otherwise: path)
    }

    private mutating func compile(_ query: LuceneQuery, otherwise path: String) throws(DocumentStoreError) -> Part {
        switch query {
        case .words(let field, let text):
            return words(Self.words(text), at: try place(field, path), matchesAll: false)
        case .phrase(let field, let text, let slop):
            return try phrases([text], at: place(field, path), slop: slop, of: "queryString")
        case .fuzzy(let field, let text, let edits):
            return try similar([text], at: place(field, path), ["maxEdits": .int32(Int32(edits))])
        case .wildcard(let field, let pattern): return wildcard(pattern, at: try place(field, path), .words)
        case .regex(let field, let pattern): return try regex(pattern, at: place(field, path), .words)
        case .range(let field, let lower, let upper): return range(at: try place(field, path), lower, upper)
        case .exists(let field): return try values("exists", ["path": .string(field ?? path)])
        case .everything: return Part(condition: "true", score: "1")
        case .boosted(let query, let factor):
            let part = try compile(query, otherwise: path)
            return part.boosted(by: "\(factor)")
        case .clauses(let clauses):
            var parts: [LuceneQuery.Clause.Occurrence: [Part]] = [:]
            for clause in clauses {
                parts[clause.occurrence, default: []].append(try compile(clause.query, otherwise: path))
            }
            let must = parts[.must] ?? [], should = parts[.should] ?? []
            var all = combined(
                must: must, mustNot: parts[.mustNot] ?? [], should: should,
                least: must.isEmpty && !should.isEmpty ? 1 : 0)
            // As in Lucene, what only excludes finds nothing.
            if must.isEmpty, should.isEmpty { all.condition = "(false and \(all.condition))" }
            return all
        }
    }

    private mutating func place(_ field: String?, _ path: String) throws(DocumentStoreError) -> SearchPath {
        try self.path(.string(field ?? path), of: "queryString")
    }

    /// Documents that have a word between two bounds, by the order of bytes.
    private mutating func range(
        at path: SearchPath, _ lower: LuceneQuery.Bound?, _ upper: LuceneQuery.Bound?
    ) -> Part {
        var tests: [String] = []
        for (bound, sign) in [(lower, ">"), (upper, "<")] {
            guard let bound else { continue }
            let wanted = "partita.folded(\(bind(.text(bound.word))))"
            tests.append("collate \"C\" \(sign)\(bound.isInclusive ? "=" : "") \(wanted)")
        }
        return matching(at: path, .words) { word in
            tests.isEmpty ? "true" : tests.map { "\(word) \($0)" }.joined(separator: " and ")
        }
    }
}
