import DocumentModel
import Postgres
import QueryLanguage

/// Translates the operators of `$search` into SQL, with Postgres' full-text search and its extensions for similar words.
struct SearchCompiler {
    /// An operator in SQL: the condition of the documents that match, and their score.
    struct Part {
        var condition: String
        var score: String

        /// What no document matches.
        static let none = Part(condition: "false", score: "0")

        /// The same documents with a score that is multiplied by a number, given in SQL.
        func boosted(by number: String) -> Part {
            Part(
                condition: condition,
                score: SearchCompiler.bounded("(\(score))::float8 * \(SearchCompiler.bounded(number))"))
        }
    }

    /// A number in SQL within 1e-36 and 1e30, or 0, and the same below 0. So no score overflows or underflows, which would fail the
    /// search, and tell of documents that the rules hide.
    static func bounded(_ number: String) -> String {
        // The two last steps make what is less than 1e-36 to 0, and leave anything else as it is.
        "(least(greatest((\(number))::float8, -1e30), 1e30) + 1e-20::float8 - 1e-20::float8)"
    }

    /// A word that was searched for, which the highlights mark.
    struct Term: Hashable {
        @ExactText var word: String
        var isPrefix = false
        var edits = 0
    }

    private(set) var parameters: [PostgresValue] = []
    var terms: Set<Term> = []
    /// The paths of the fields that a condition or a score depends on; `nil` if these may be any fields.
    private(set) var places: [String]? = []
    /// Extensions that the statement needs.
    var extensions: Set<String> = []
    private var depth = 0

    /// Where an operator looks. The condition and the score depend on these fields.
    mutating func path(_ value: Value?, of name: String) throws(DocumentStoreError) -> SearchPath {
        let path = try SearchPath(value, of: name)
        if let paths = path.paths { places? += paths } else { places = nil }
        return path
    }

    /// Notes that the condition or the score depends on a field.
    mutating func depend(on path: String) { places?.append(path) }

    mutating func bind(_ value: PostgresValue) -> String {
        parameters.append(value)
        return "$\(parameters.count)"
    }

    /// The operators with their options; each has `score`, too.
    private static let options: KeyValuePairs<String, [String]> = [
        "text": ["query", "path", "fuzzy", "matchCriteria"], "phrase": ["query", "path", "slop"],
        "compound": ["must", "mustNot", "should", "filter", "minimumShouldMatch"],
        "autocomplete": ["query", "path", "tokenOrder", "fuzzy"], "queryString": ["query", "defaultPath"],
        "moreLikeThis": ["like"], "wildcard": ["query", "path", "allowAnalyzedField"],
        "regex": ["query", "path", "allowAnalyzedField"], "exists": ["path"], "equals": ["path", "value"],
        "in": ["path", "value"], "range": ["path", "gt", "gte", "lt", "lte"], "near": ["path", "origin", "pivot"],
        "term": ["query", "path", "prefix", "wildcard", "regex", "fuzzy"], "search": ["query", "path", "phrase"],
    ]
    static let operators = options.map(\.key)
    private static let unsupported = [
        "embeddedDocument", "geoShape", "geoWithin", "hasAncestor", "hasRoot", "knnBeta", "span", "vector",
        "vectorSearch",
    ]
    /// The most words, patterns and the like of one search; the same as Lucene's limit of clauses.
    private static let mostParameters = 1024
    /// The most bytes of an operator's SQL.
    private static let mostBytes = 1 << 20

    /// Compiles the one operator of a document.
    mutating func compile(_ document: Document) throws(DocumentStoreError) -> Part {
        depth += 1
        defer { depth -= 1 }
        guard depth <= 20 else { throw SearchError.wrong("the search is nested too deeply") }
        if let name = document.fields.first(where: { Self.unsupported.contains($0.key) })?.key {
            throw SearchError.unsupported("the operator \(name)")
        }
        let found = document.fields.filter { Self.operators.contains($0.key) }
        guard found.count == 1, let field = found.first else {
            throw SearchError.wrong("one of \(Self.operators.joined(separator: ", ")) is required")
        }
        guard case .document(let options) = field.value else {
            throw SearchError.wrong("\"\(field.key)\" must be a document")
        }
        if let synonyms = options.fields.first(where: { ["synonyms", "doesNotAffect", "function"].contains($0.key) }) {
            throw SearchError.unsupported("\(field.key).\(synonyms.key)")
        }
        let known = Self.options.first { $0.key == field.key }?.value ?? []
        if let other = options.keys.first(where: { $0 != "score" && !known.contains($0) }) {
            throw SearchError.wrong("unrecognized field \"\(field.key).\(other)\"")
        }
        let part =
            switch field.key {
            case "text": try text(options)
            case "phrase": try phrase(options)
            case "compound": try compound(options)
            case "autocomplete": try autocomplete(options)
            case "wildcard": try wildcard(options)
            case "regex": try regex(options)
            case "term": try term(options)
            case "search": try search(options)
            case "queryString": try queryString(options)
            case "moreLikeThis": try moreLikeThis(options)
            case "near": try near(options)
            default: try values(field.key, options)
            }
        guard parameters.count <= Self.mostParameters else {
            throw SearchError.wrong("the search has more than \(Self.mostParameters) words")
        }
        guard part.condition.utf8.count + part.score.utf8.count <= Self.mostBytes else {
            throw SearchError.wrong("the search is too large")
        }
        return try scored(part, options["score"], of: field.key)
    }

    private mutating func scored(_ part: Part, _ options: Value?, of name: String) throws(DocumentStoreError) -> Part {
        guard let options else { return part }
        guard case .document(let score) = options, score.count == 1, let field = score.fields.first else {
            throw SearchError.wrong("\"\(name).score\" must have one of boost and constant")
        }
        switch field.key {
        case "boost":
            if let number = field.value["value"]?.doubleValue, number > 0, number.isFinite {
                return part.boosted(by: "\(number)")
            }
            guard let path = field.value["path"]?.stringValue else {
                throw SearchError.wrong("\"\(name).score.boost\" needs a value or a path")
            }
            let undefined = field.value["undefined"]?.doubleValue ?? 0
            guard undefined.isFinite else {
                throw SearchError.wrong("\"\(name).score.boost.undefined\" must be finite")
            }
            depend(on: path)
            let number = Self.number("$" + IndexPredicate.steps(Path(path)))
            return part.boosted(by: "coalesce(\(number), \(undefined))")
        case "constant":
            guard let number = field.value["value"]?.doubleValue, number >= 0, number.isFinite else {
                throw SearchError.wrong("\"\(name).score.constant.value\" must be a number")
            }
            return Part(condition: part.condition, score: Self.bounded("\(number)"))
        default: throw SearchError.unsupported("\(name).score.\(field.key)")
        }
    }

    static func queries(_ options: Document, of name: String) throws(DocumentStoreError) -> [String] {
        let value = options["query"]
        let queries = (value?.arrayValue ?? value.map { [$0] } ?? []).compactMap(\.stringValue)
        guard !queries.isEmpty, queries.count == (value?.arrayValue?.count ?? 1) else {
            throw SearchError.wrong("\"\(name).query\" is required, a string or a list of them")
        }
        guard queries.allSatisfy({ !$0.utf8.contains(0) }) else {
            throw SearchError.wrong("\"\(name).query\" has U+0000")
        }
        return queries
    }

    static func words(_ text: String) -> [String] {
        text.split { !$0.isLetter && !$0.isNumber }.map(String.init)
    }

    /// What matches any of the parts.
    static func any(_ parts: [Part]) -> Part {
        if parts.isEmpty { return .none }
        return Part(
            condition: "(" + parts.map(\.condition).joined(separator: " or ") + ")",
            score: "(" + parts.map { "case when \($0.condition) then \($0.score) else 0 end" }.joined(separator: " + ")
                + ")")
    }
}
