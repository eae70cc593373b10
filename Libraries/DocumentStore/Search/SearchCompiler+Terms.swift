import DocumentModel
import Foundation
import QueryLanguage
import RegularExpressions

/// Operators that compare whole texts, or single words, with a query that isn't split into words.
extension SearchCompiler {
    /// What a query is compared with.
    struct Compared: OptionSet {
        let rawValue: Int

        static let texts = Compared(rawValue: 1)
        static let words = Compared(rawValue: 2)

        /// A text that isn't analyzed is one term, an analyzed one has its words as terms. All texts are both here, so the words
        /// are compared only if the query says that it means them.
        static func allowing(_ options: Document) -> Compared {
            options["allowAnalyzedField"]?.boolValue == true ? [.texts, .words] : .texts
        }
    }

    mutating func wildcard(_ options: Document) throws(DocumentStoreError) -> Part {
        let path = try path(options["path"], of: "wildcard")
        var parts: [Part] = []
        for query in try Self.queries(options, of: "wildcard") {
            parts.append(wildcard(query, at: path, .allowing(options)))
        }
        return Self.any(parts)
    }

    /// `*` stands for any characters and `?` for one; a backslash takes the meaning from the next character.
    mutating func wildcard(_ query: String, at path: SearchPath, _ compared: Compared) -> Part {
        var pattern = ""
        var isEscaped = false
        for character in query {
            switch character {
            case "\\" where !isEscaped:
                isEscaped = true
                continue
            case "*" where !isEscaped: pattern += "%"
            case "?" where !isEscaped: pattern += "_"
            default: pattern += Self.literal(character)
            }
            isEscaped = false
        }
        return like(pattern, at: path, compared)
    }

    /// The pattern of `like` that a character matches.
    private static func literal(_ character: Character) -> String {
        "%_\\".contains(character) ? "\\\(character)" : String(character)
    }

    private mutating func like(_ pattern: String, at path: SearchPath, _ compared: Compared) -> Part {
        let wanted = bind(.text(pattern))
        return matching(at: path, compared) { "\($0) like partita.folded(\(wanted))" }
    }

    mutating func regex(_ options: Document) throws(DocumentStoreError) -> Part {
        let path = try path(options["path"], of: "regex")
        var parts: [Part] = []
        for query in try Self.queries(options, of: "regex") {
            parts.append(try regex(query, at: path, .allowing(options)))
        }
        return Self.any(parts)
    }

    /// A regular expression of Lucene. Postgres matches it without going back, so its budget is its size.
    mutating func regex(_ query: String, at path: SearchPath, _ compared: Compared) throws(DocumentStoreError) -> Part {
        let pattern: String
        do {
            pattern = try LucenePattern.translating(query) { SearchHighlights.folded($0) }
        } catch {
            throw error.code == 115
                ? DocumentStoreError(.notSupported, error.message, mongoCode: 115)
                : SearchError.wrong("\"regex.query\": \(error.message)")
        }
        let wanted = bind(.text(pattern))
        return matching(at: path, compared) { "\($0) collate \"und-x-icu\" ~* \(wanted)" }
    }

    /// `term`, as the operators on terms were called at first: the query itself, or with `prefix`, `wildcard`, `regex` or `fuzzy`
    /// what it says.
    mutating func term(_ options: Document) throws(DocumentStoreError) -> Part {
        let path = try path(options["path"], of: "term")
        let queries = try Self.queries(options, of: "term")
        func isSet(_ name: String) -> Bool { options[name]?.boolValue == true }
        if case .document(let fuzzy)? = options["fuzzy"] { return try similar(queries, at: path, fuzzy) }
        var parts: [Part] = []
        for query in queries {
            if isSet("regex") {
                parts.append(try regex(query, at: path, [.texts, .words]))
            } else if isSet("wildcard") {
                parts.append(wildcard(query, at: path, [.texts, .words]))
            } else {
                let isPrefix = isSet("prefix")
                terms.insert(Term(word: query, isPrefix: isPrefix))
                let pattern = query.map { Self.literal($0) }.joined() + (isPrefix ? "%" : "")
                parts.append(like(pattern, at: path, [.texts, .words]))
            }
        }
        return Self.any(parts)
    }

    /// Documents in which a text or a word passes a test, which gets the SQL of the text in lower case and without accents.
    func matching(at path: SearchPath, _ compared: Compared, _ test: (String) -> String) -> Part {
        var conditions: [String] = []
        if compared.contains(.texts) {
            conditions.append("exists (select from \(path.texts) x where \(test("partita.folded(x)")))")
        }
        if compared.contains(.words) {
            conditions.append("exists (select from unnest(tsvector_to_array(\(path.vector))) w where \(test("w")))")
        }
        return Part(condition: "(\(conditions.joined(separator: " or ")))", score: "1")
    }
}
