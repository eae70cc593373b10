import DocumentModel
import Postgres

/// `$text`: words of which at least one has to occur, phrases that all have to occur, and words that must not occur.
///
/// Words are compared by their stems, ignoring accents and case, by the collection's text index.
struct TextQuery: Sendable {
    private(set) var words: [String] = []
    private(set) var phrases: [String] = []
    private(set) var excluded: [String] = []
    private var language: String?
    private var isCaseSensitive = false
    private var isDiacriticSensitive = false

    init(_ value: Value) throws(DocumentStoreError) {
        guard case .document(let options) = value, case .string(let search)? = options["$search"] else {
            throw Self.wrong("Missing expected field \"$search\"")
        }
        for field in options.fields {
            switch (field.key, field.value) {
            case ("$search", _): break
            case ("$language", .string(let name)):
                guard let configuration = TextLanguage.configuration(name) else {
                    throw Self.wrong("unsupported language: \"\(name)\"", code: 2)
                }
                language = configuration
            case ("$caseSensitive", .bool(let flag)): isCaseSensitive = flag
            case ("$diacriticSensitive", .bool(let flag)): isDiacriticSensitive = flag
            default: throw Self.wrong("extra fields in $text, or of the wrong type: \(field.key)", code: 2)
            }
        }
        read(search)
    }

    private static func wrong(_ message: String, code: Int = 9) -> DocumentStoreError {
        DocumentStoreError(.badFilter, message, mongoCode: code)
    }

    /// Removes `$text` from a filter, in which it is at the top level or in a top-level `$and`.
    static func extract(from filter: inout Document) throws(DocumentStoreError) -> TextQuery? {
        var found: Value?
        if let value = filter["$text"] {
            found = value
            filter["$text"] = nil
        }
        if case .array(var parts)? = filter["$and"] {
            for index in parts.indices {
                guard case .document(var part) = parts[index], let value = part["$text"] else { continue }
                if found != nil { throw wrong("Too many text expressions", code: 2) }
                found = value
                part["$text"] = nil
                parts[index] = .document(part)
            }
            filter["$and"] = .array(parts)
        }
        guard let found else { return nil }
        return try TextQuery(found)
    }

    private mutating func read(_ search: String) {
        var rest = search[...]
        while let first = rest.first {
            if first.isWhitespace {
                rest = rest.dropFirst()
                continue
            }
            let isNegated = first == "-"
            if isNegated { rest = rest.dropFirst() }
            if rest.first == "\"" {
                let body = rest.dropFirst()
                let end = body.firstIndex(of: "\"") ?? body.endIndex
                let phrase = String(body[..<end])
                rest = end == body.endIndex ? body[end...] : body[body.index(after: end)...]
                if phrase.allSatisfy({ !$0.isLetter && !$0.isNumber }) { continue }
                if isNegated { excluded.append(phrase) } else { phrases.append(phrase) }
            } else {
                let end = rest.firstIndex { $0.isWhitespace || $0 == "\"" } ?? rest.endIndex
                let word = String(rest[..<end])
                rest = rest[end...]
                if word.allSatisfy({ !$0.isLetter && !$0.isNumber }) { continue }
                if isNegated { excluded.append(word) } else { words.append(word) }
            }
        }
    }

    /// The condition of the matching documents, and their score, as SQL.
    func sql(
        by indexes: [CollectionIndex], _ bind: (PostgresValue) -> String
    ) throws(DocumentStoreError) -> (condition: String, score: String, index: String) {
        guard let index = indexes.first(where: { $0.model.text != nil }), let text = TextIndexSQL(index.model) else {
            throw DocumentStoreError(.unknownIndex, "text index required for $text query", mongoCode: 27)
        }
        let configuration = FilterTranslation.literal("pg_catalog." + (language ?? text.configuration)) + "::regconfig"
        func query(_ function: String, _ words: String) -> String {
            "\(function)(\(configuration), partita.folded(\(bind(.text(words)))))"
        }
        // If there is a phrase, it has to occur, and words only affect the score.
        let wordQuery = words.map { query("plainto_tsquery", $0) }.joined(separator: " || ")
        let phraseQuery = phrases.map { query("phraseto_tsquery", $0) }.joined(separator: " && ")
        var wanted = phrases.isEmpty ? wordQuery : phraseQuery
        if wanted.isEmpty { return ("false", "0::float8", index.model.name) }
        wanted = "(\(wanted))"
        for phrase in excluded { wanted += " && !!\(query("phraseto_tsquery", phrase))" }
        var condition = "\(text.vector) @@ (\(wanted))"
        if isCaseSensitive || isDiacriticSensitive {
            let all = phrases.isEmpty ? words : phrases
            let exact = all.map { term in
                "partita.text_has(document, \(text.fields), \(configuration), \(bind(.text(term))), \(isCaseSensitive), \(isDiacriticSensitive))"
            }
            condition += " and (\(exact.joined(separator: phrases.isEmpty ? " or " : " and ")))"
        }
        // Words with a phrase affect only the score, but a statement without the score has to use their parameters too.
        if !phrases.isEmpty, !wordQuery.isEmpty { condition += " and (\(wordQuery)) is not null" }
        if let predicate = index.predicate { condition += " and (\(predicate))" }
        let most = max(text.weights.max() ?? 1, 1)
        let weights = text.weights.map { "\($0 / most)" }.joined(separator: ",")
        let counted = [wordQuery, phraseQuery].filter { !$0.isEmpty }.joined(separator: " || ")
        return (
            condition, "(ts_rank('{\(weights)}'::float4[], \(text.vector), \(counted)) * \(most))::float8",
            index.model.name
        )
    }
}
