import DocumentModel
import Foundation

extension SearchCompiler {
    /// The most combinations of distances between the words of a phrase with a slop.
    private static let mostDistances = 2000.0

    /// `text`: at least one of the words, or all.
    mutating func text(_ options: Document) throws(DocumentStoreError) -> Part {
        let path = try path(options["path"], of: "text")
        var words: [String] = []
        for query in try Self.queries(options, of: "text") { words += Self.words(query) }
        let matchesAll = options["matchCriteria"]?.stringValue == "all"
        if case .document(let fuzzy)? = options["fuzzy"] {
            return try similar(words, at: path, fuzzy, matchesAll: matchesAll)
        }
        return self.words(words, at: path, matchesAll: matchesAll)
    }

    /// Documents that have at least one of the words, or all.
    mutating func words(_ words: [String], at path: SearchPath, matchesAll: Bool) -> Part {
        if words.isEmpty { return .none }
        for word in words { terms.insert(Term(word: word)) }
        let query = words.map { self.word($0) }.joined(separator: matchesAll ? " && " : " || ")
        return ranked("(\(query))", at: path)
    }

    /// The SQL of a query for one word.
    mutating func word(_ word: String) -> String {
        "plainto_tsquery('pg_catalog.simple', partita.search_words(\(bind(.text(word)))))"
    }

    /// The SQL of a query in the language of `to_tsquery`.
    private mutating func query(_ text: String) -> String {
        "to_tsquery('pg_catalog.simple', partita.folded(\(bind(.text(text)))))"
    }

    private func ranked(_ query: String, at path: SearchPath) -> Part {
        Part(condition: "\(path.vector) @@ \(query)", score: "ts_rank('{1,1,1,1}', \(path.vector), \(query), 1) * 10")
    }

    /// `fuzzy`: words that are a few edits away have a lower score.
    mutating func similar(
        _ words: [String], at path: SearchPath, _ fuzzy: Document, matchesAll: Bool = false
    ) throws(DocumentStoreError) -> Part {
        if words.isEmpty { return .none }
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

    mutating func phrase(_ options: Document) throws(DocumentStoreError) -> Part {
        let path = try path(options["path"], of: "phrase")
        return try phrases(
            try Self.queries(options, of: "phrase"), at: path, slop: options["slop"]?.intValue ?? 0, of: "phrase")
    }

    /// Documents that have at least one of the phrases.
    ///
    /// - Parameters:
    ///   - slop: how many other words may stand between two words.
    ///   - endsInPrefix: whether the last word of a phrase stands for all words that begin with it.
    mutating func phrases(
        _ phrases: [String], at path: SearchPath, slop: Int, endsInPrefix: Bool = false, of name: String
    ) throws(DocumentStoreError) -> Part {
        guard (0...10).contains(slop) else {
            throw SearchError.unsupported("a \(name).slop that isn't within 0 and 10")
        }
        var queries: [String] = []
        for phrase in phrases {
            let words = Self.words(phrase)
            var parts: [String] = []
            for (index, word) in words.enumerated() {
                let isPrefix = endsInPrefix && index == words.count - 1
                terms.insert(Term(word: word, isPrefix: isPrefix))
                // The words have only letters and digits, none of which has a special meaning in a tsquery.
                parts.append(isPrefix ? query(word + ":*") : self.word(word))
            }
            guard let first = parts.first else { continue }
            // The query has each combination of the distances between two words.
            guard pow(Double(slop + 1), Double(parts.count - 1)) <= Self.mostDistances else {
                throw SearchError.unsupported("\(name).slop \(slop) with a phrase of \(parts.count) words")
            }
            // Each step of the slop allows one more word between two words.
            queries.append(
                parts.dropFirst().reduce(first) { phrase, next in
                    "(" + (1...slop + 1).map { "tsquery_phrase(\(phrase), \(next), \($0))" }.joined(separator: " || ")
                        + ")"
                })
        }
        return queries.isEmpty ? .none : ranked("(\(queries.joined(separator: " || ")))", at: path)
    }

    mutating func autocomplete(_ options: Document) throws(DocumentStoreError) -> Part {
        let path = try path(options["path"], of: "autocomplete")
        let isSequential = options["tokenOrder"]?.stringValue == "sequential"
        var parts: [Part] = []
        for text in try Self.queries(options, of: "autocomplete") {
            let words = Self.words(text)
            if words.isEmpty { continue }
            if options["fuzzy"] != nil {
                extensions.insert("pg_trgm")
                for word in words { terms.insert(Term(word: word, isPrefix: true, edits: 1)) }
                let wanted = "partita.folded(\(bind(.text(text))))"
                let likeness =
                    "(select coalesce(max(word_similarity(\(wanted), partita.folded(x))), 0) from \(path.texts) x)"
                parts.append(Part(condition: "\(likeness) >= 0.4", score: "\(likeness)::float8"))
            } else {
                for word in words { terms.insert(Term(word: word, isPrefix: true)) }
                let wanted = query(words.map { $0 + ":*" }.joined(separator: isSequential ? " <-> " : " & "))
                parts.append(ranked(wanted, at: path))
            }
        }
        return Self.any(parts)
    }

    /// `search`, as `text` and `phrase` were called at first: words, or with `phrase` a phrase.
    mutating func search(_ options: Document) throws(DocumentStoreError) -> Part {
        let path = try path(options["path"], of: "search")
        let queries = try Self.queries(options, of: "search")
        guard let phrase = options["phrase"] else {
            return words(queries.flatMap { Self.words($0) }, at: path, matchesAll: false)
        }
        guard case .document(let given) = phrase, given.keys.allSatisfy({ ["slop", "prefix"].contains($0) }) else {
            throw SearchError.wrong("\"search.phrase\" must be a document with slop or prefix")
        }
        return try phrases(
            queries, at: path, slop: given["slop"]?.intValue ?? 0,
            endsInPrefix: given["prefix"]?.boolValue == true, of: "search.phrase")
    }
}
