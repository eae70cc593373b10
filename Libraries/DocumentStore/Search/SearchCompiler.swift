import DocumentModel
import Postgres
import QueryLanguage

/// Translates the operators of `$search` into SQL, with Postgres' full-text search and its extensions for similar words.
struct SearchCompiler {
    /// An operator in SQL: the condition of the documents that match, and their score.
    struct Part {
        var condition: String
        var score: String
    }

    /// A word that was searched for, which the highlights mark.
    struct Term: Hashable {
        @ExactText var word: String
        var isPrefix = false
        var edits = 0
    }

    private(set) var parameters: [PostgresValue] = []
    private(set) var terms: Set<Term> = []
    /// The paths of the fields that a condition or a score depends on; `nil` if these may be any fields.
    private(set) var places: [String]? = []
    /// Extensions that the statement needs.
    private(set) var extensions: Set<String> = []
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

    static let operators = [
        "text", "phrase", "compound", "autocomplete", "wildcard", "exists", "equals", "in", "range", "near",
    ]
    private static let unsupported = [
        "embeddedDocument", "geoShape", "geoWithin", "hasAncestor", "hasRoot", "knnBeta", "moreLikeThis", "queryString",
        "regex",
        "span", "vectorSearch",
    ]

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
        let part =
            switch field.key {
            case "text": try text(options)
            case "phrase": try phrase(options)
            case "compound": try compound(options)
            case "autocomplete": try autocomplete(options)
            case "wildcard": try wildcard(options)
            case "near": try near(options)
            default: try values(field.key, options)
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
                return Part(condition: part.condition, score: "(\(part.score)) * \(number)")
            }
            guard let path = field.value["path"]?.stringValue else {
                throw SearchError.wrong("\"\(name).score.boost\" needs a value or a path")
            }
            let undefined = field.value["undefined"]?.doubleValue ?? 0
            guard undefined.isFinite else {
                throw SearchError.wrong("\"\(name).score.boost.undefined\" must be finite")
            }
            depend(on: path)
            return Part(
                condition: part.condition, score: "(\(part.score)) * coalesce(\(Self.number(path)), \(undefined))")
        case "constant":
            guard let number = field.value["value"]?.doubleValue, number >= 0, number.isFinite else {
                throw SearchError.wrong("\"\(name).score.constant.value\" must be a number")
            }
            return Part(condition: part.condition, score: "\(number)")
        default: throw SearchError.unsupported("\(name).score.\(field.key)")
        }
    }

    /// The number at a path, as SQL.
    private static func number(_ path: String) -> String {
        let place = FilterTranslation.literal("$" + IndexPredicate.steps(Path(path)) + " ? (@.type() == \"number\")")
        return "jsonb_path_query_first(document, \(place)::jsonpath)::float8"
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

    // MARK: Words

    private mutating func text(_ options: Document) throws(DocumentStoreError) -> Part {
        let path = try path(options["path"], of: "text")
        var words: [String] = []
        for query in try Self.queries(options, of: "text") { words += Self.words(query) }
        if words.isEmpty { return Part(condition: "false", score: "0") }
        let matchesAll = options["matchCriteria"]?.stringValue == "all"
        if case .document(let fuzzy)? = options["fuzzy"] {
            return try similar(words, at: path, fuzzy, matchesAll: matchesAll)
        }
        for word in words { terms.insert(Term(word: word)) }
        let queries = words.map { "plainto_tsquery('pg_catalog.simple', partita.folded(\(bind(.text($0)))))" }
        let query = "(\(queries.joined(separator: matchesAll ? " && " : " || ")))"
        return Part(
            condition: "\(path.vector) @@ \(query)", score: "ts_rank('{1,1,1,1}', \(path.vector), \(query), 1) * 10")
    }

    /// `fuzzy`: words that are a few edits away have a lower score.
    private mutating func similar(
        _ words: [String], at path: SearchPath, _ fuzzy: Document, matchesAll: Bool
    ) throws(DocumentStoreError) -> Part {
        let edits = fuzzy["maxEdits"]?.intValue ?? 2
        guard (1...2).contains(edits) else { throw SearchError.wrong("\"fuzzy.maxEdits\" must be 1 or 2") }
        let prefix = max(fuzzy["prefixLength"]?.intValue ?? 0, 0)
        extensions.insert("fuzzystrmatch")
        var scores: [String] = []
        for word in words {
            terms.insert(Term(word: word, edits: edits))
            let wanted = "partita.folded(\(bind(.text(String(word.prefix(100))))))"
            var distance = "levenshtein_less_equal(w, \(wanted), \(edits))"
            if prefix > 0 {
                distance = "case when left(w, \(prefix)) = left(\(wanted), \(prefix)) then \(distance) else 9 end"
            }
            scores.append(
                "coalesce((select max(\(edits) + 1 - d) from unnest(tsvector_to_array(\(path.vector))) w, "
                    + "lateral (select \(distance) d where length(w) <= 100) l where d <= \(edits)), 0)")
        }
        let condition = scores.map { "\($0) > 0" }.joined(separator: matchesAll ? " and " : " or ")
        return Part(condition: "(\(condition))", score: "(\(scores.joined(separator: " + ")))::float8 / \(edits + 1)")
    }

    private mutating func phrase(_ options: Document) throws(DocumentStoreError) -> Part {
        let path = try path(options["path"], of: "phrase")
        let slop = options["slop"]?.intValue ?? 0
        guard (0...10).contains(slop) else { throw SearchError.unsupported("a phrase.slop of more than 10") }
        var queries: [String] = []
        for query in try Self.queries(options, of: "phrase") {
            let words = Self.words(query)
            for word in words { terms.insert(Term(word: word)) }
            let parts = words.map { "plainto_tsquery('pg_catalog.simple', partita.folded(\(bind(.text($0)))))" }
            guard let first = parts.first else { continue }
            // Each step of the slop allows one more word between two words.
            queries.append(
                parts.dropFirst().reduce(first) { phrase, next in
                    "(" + (1...slop + 1).map { "tsquery_phrase(\(phrase), \(next), \($0))" }.joined(separator: " || ")
                        + ")"
                })
        }
        if queries.isEmpty { return Part(condition: "false", score: "0") }
        let query = "(\(queries.joined(separator: " || ")))"
        return Part(
            condition: "\(path.vector) @@ \(query)", score: "ts_rank('{1,1,1,1}', \(path.vector), \(query), 1) * 10")
    }

    private mutating func autocomplete(_ options: Document) throws(DocumentStoreError) -> Part {
        let path = try path(options["path"], of: "autocomplete")
        let isSequential = options["tokenOrder"]?.stringValue == "sequential"
        var parts: [Part] = []
        for query in try Self.queries(options, of: "autocomplete") {
            let words = Self.words(query)
            if words.isEmpty { continue }
            if options["fuzzy"] != nil {
                extensions.insert("pg_trgm")
                for word in words { terms.insert(Term(word: word, isPrefix: true, edits: 1)) }
                let wanted = "partita.folded(\(bind(.text(query))))"
                let likeness =
                    "(select coalesce(max(word_similarity(\(wanted), partita.folded(x))), 0) from \(path.texts) x)"
                parts.append(Part(condition: "\(likeness) >= 0.4", score: "\(likeness)::float8"))
            } else {
                for word in words { terms.insert(Term(word: word, isPrefix: true)) }
                // The words have only letters and digits, none of which has a special meaning in a tsquery.
                let text = words.map { $0 + ":*" }.joined(separator: isSequential ? " <-> " : " & ")
                let wanted = "to_tsquery('pg_catalog.simple', partita.folded(\(bind(.text(text)))))"
                parts.append(
                    Part(
                        condition: "\(path.vector) @@ \(wanted)",
                        score: "ts_rank('{1,1,1,1}', \(path.vector), \(wanted), 1) * 10"))
            }
        }
        return Self.any(parts)
    }

    private mutating func wildcard(_ options: Document) throws(DocumentStoreError) -> Part {
        let path = try path(options["path"], of: "wildcard")
        var parts: [Part] = []
        for query in try Self.queries(options, of: "wildcard") {
            var pattern = ""
            var isEscaped = false
            for character in query {
                switch character {
                case "\\" where !isEscaped:
                    isEscaped = true
                    continue
                case "*" where !isEscaped: pattern += "%"
                case "?" where !isEscaped: pattern += "_"
                case "%", "_", "\\": pattern += "\\\(character)"
                default: pattern.append(character)
                }
                isEscaped = false
            }
            let wanted = bind(.text(pattern))
            // A whole text, or one of its words where the text is analyzed.
            var condition =
                "exists (select from \(path.texts) x where partita.folded(x) like partita.folded(\(wanted)))"
            if options["allowAnalyzedField"]?.boolValue == true {
                condition =
                    "(\(condition) or exists (select from unnest(tsvector_to_array(\(path.vector))) w where w like partita.folded(\(wanted))))"
            }
            parts.append(Part(condition: condition, score: "1"))
        }
        return Self.any(parts)
    }

    private static func any(_ parts: [Part]) -> Part {
        if parts.isEmpty { return Part(condition: "false", score: "0") }
        return Part(
            condition: "(" + parts.map(\.condition).joined(separator: " or ") + ")",
            score: "(" + parts.map { "case when \($0.condition) then \($0.score) else 0 end" }.joined(separator: " + ")
                + ")")
    }
}
