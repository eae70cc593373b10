import DocumentModel

/// A query in the language of Lucene's classic query parser, which `queryString` uses.
///
/// Words, `"phrases"`, `wildc*rds`, `/regular expressions/`, `fuzzy~1`, `[ranges TO words]`, each with a field (`field:word`,
/// `field:(one two)`) or without one; combined by `AND`, `OR`, `NOT`, their signs `&&`, `||`, `!`, and `+` and `-`; `^2` weighs.
/// Without an operator between them, parts are alternatives. As in Lucene, `AND` makes the parts on both of its sides necessary
/// whatever stands beside them: `a AND b OR c` needs `a` and `b`, and `c` only adds to the score.
indirect enum LuceneQuery {
    /// Words of which one has to occur.
    case words(Field, String)
    case phrase(Field, String, slop: Int)
    case fuzzy(Field, String, edits: Int)
    /// A word with `*` and `?`; a backslash takes the meaning from the next character.
    case wildcard(Field, String)
    case regex(Field, String)
    /// Words between two bounds; `nil` for no bound.
    case range(Field, lower: Bound?, upper: Bound?)
    /// Whether the field exists.
    case exists(Field)
    case everything
    case boosted(LuceneQuery, Double)
    case clauses([Clause])

    /// The name of a field; `nil` for the default path.
    typealias Field = String?

    struct Bound {
        let word: String
        let isInclusive: Bool
    }

    struct Clause {
        enum Occurrence {
            case must, should, mustNot
        }

        var occurrence: Occurrence
        let query: LuceneQuery
    }

    /// - Throws: a query that doesn't follow the language, with the place.
    init(parsing text: String) throws(DocumentStoreError) {
        var parser = LuceneQueryParser(text)
        self = try parser.parse()
    }
}

/// Reads a `LuceneQuery`.
private struct LuceneQueryParser {
    private let characters: [Character]
    private var position = 0
    private var depth = 0

    private static let depthLimit = 20
    private static let lengthLimit = 16_384

    init(_ text: String) { characters = Array(text) }

    // MARK: Characters

    private var current: Character? { position < characters.count ? characters[position] : nil }

    private func wrong(_ what: String) -> DocumentStoreError {
        SearchError.wrong("\"queryString.query\" can't be read at character \(position + 1): \(what)")
    }

    private mutating func skipSpace() {
        while let character = current, character.isWhitespace { position += 1 }
    }

    private mutating func skip(_ text: String) -> Bool {
        guard characters[position...].starts(with: text) else { return false }
        position += text.count
        return true
    }

    /// Skips an operator that is a word: it ends where a word would.
    private mutating func skipWord(_ word: String) -> Bool {
        let start = position
        guard skip(word), current.map({ !Self.continues($0) }) ?? true else {
            position = start
            return false
        }
        return true
    }

    private static func continues(_ character: Character) -> Bool {
        !character.isWhitespace && !"!():^[]\"{}~/".contains(character)
    }

    private static func begins(_ character: Character) -> Bool {
        continues(character) && character != "+" && character != "-"
    }

    // MARK: Clauses

    mutating func parse() throws(DocumentStoreError) -> LuceneQuery {
        guard characters.count <= Self.lengthLimit else { throw wrong("it is too long") }
        let query = try clauses(of: nil)
        if current != nil { throw wrong("unexpected \"\(characters[position])\"") }
        return query
    }

    private mutating func clauses(of field: LuceneQuery.Field) throws(DocumentStoreError) -> LuceneQuery {
        depth += 1
        defer { depth -= 1 }
        guard depth <= Self.depthLimit else { throw wrong("it is nested too deeply") }
        var clauses: [LuceneQuery.Clause] = []
        skipSpace()
        while let character = current, character != ")" {
            var isNecessary = false
            if !clauses.isEmpty {
                if skipWord("AND") || skip("&&") {
                    isNecessary = true
                    let last = clauses.count - 1
                    if clauses[last].occurrence == .should { clauses[last].occurrence = .must }
                } else if skipWord("OR") || skip("||") {
                    // Alternatives are the default.
                }
                skipSpace()
            }
            var occurrence = LuceneQuery.Clause.Occurrence.should
            if skipWord("NOT") || skip("!") || skip("-") {
                occurrence = .mustNot
            } else if skip("+") || isNecessary {
                occurrence = .must
            }
            skipSpace()
            clauses.append(.init(occurrence: occurrence, query: try clause(of: field)))
            skipSpace()
        }
        guard let first = clauses.first else { throw wrong("a word is missing") }
        return clauses.count == 1 && first.occurrence != .mustNot ? first.query : .clauses(clauses)
    }

    private mutating func clause(of outer: LuceneQuery.Field) throws(DocumentStoreError) -> LuceneQuery {
        if skip("*:*") { return try boosted(.everything) }
        let field = try field() ?? outer
        skipSpace()
        if skip("(") {
            let query = try clauses(of: field)
            guard skip(")") else { throw wrong("\")\" is missing") }
            return try boosted(query)
        }
        switch current {
        case "\"": return try boosted(phrase(of: field))
        case "/": return try boosted(regex(of: field))
        case "[", "{": return try boosted(range(of: field))
        default: return try boosted(word(of: field))
        }
    }

    /// The name before a colon; `nil` if there is none, and then nothing is skipped.
    private mutating func field() throws(DocumentStoreError) -> LuceneQuery.Field {
        let start = position
        if let name = try? text().plain {  // what isn't a word is no field, and is read as something else
            skipSpace()
            if skip(":") { return name }
        }
        position = start
        return nil
    }

    private mutating func boosted(_ query: LuceneQuery) throws(DocumentStoreError) -> LuceneQuery {
        guard skip("^") else { return query }
        guard let number = number(), number > 0 else { throw wrong("a positive number has to follow \"^\"") }
        return .boosted(query, number)
    }

    private mutating func number() -> Double? {
        let start = position
        while let character = current, "0123456789.".contains(character) { position += 1 }
        return Double(String(characters[start..<position])).flatMap { $0.isFinite ? $0 : nil }
    }

    // MARK: Parts

    /// A word with its escapes, and without them.
    private mutating func text() throws(DocumentStoreError) -> (escaped: String, plain: String, isPattern: Bool) {
        var escaped = "", plain = ""
        var isPattern = false
        while let character = current {
            if character == "\\" {
                position += 1
                guard let next = current else { throw wrong("a character has to follow \"\\\"") }
                escaped += "\\\(next)"
                plain.append(next)
            } else {
                guard escaped.isEmpty ? Self.begins(character) : Self.continues(character) else { break }
                if character == "*" || character == "?" { isPattern = true }
                escaped.append(character)
                plain.append(character)
            }
            position += 1
        }
        guard !escaped.isEmpty else {
            throw wrong(current.map { "unexpected \"\($0)\"" } ?? "a word is missing")
        }
        return (escaped, plain, isPattern)
    }

    private mutating func word(of field: LuceneQuery.Field) throws(DocumentStoreError) -> LuceneQuery {
        let start = position
        for word in ["AND", "OR", "NOT"] where skipWord(word) {
            position = start
            throw wrong("unexpected \(word)")
        }
        let (escaped, plain, isPattern) = try text()
        if isPattern {
            if escaped == "*" { return .exists(field) }
            guard let first = escaped.first, first != "*", first != "?" else {
                position = start
                throw wrong("\"*\" and \"?\" can't be the first character of a word")
            }
            return .wildcard(field, escaped)
        }
        guard skip("~") else { return .words(field, plain) }
        let given = number() ?? 2
        // Before it was a number of edits, it was the similarity, from 0 to 1.
        let edits = given < 1 ? min(Int((1 - given) * Double(plain.count)), 2) : Int(exactly: given) ?? 3
        guard edits <= 2 else { throw wrong("a word has at most 2 edits") }
        return edits == 0 ? .words(field, plain) : .fuzzy(field, plain, edits: edits)
    }

    /// The characters up to an end, which a backslash takes the meaning from.
    private mutating func quoted(by end: Character, keepingEscapes: Bool) throws(DocumentStoreError) -> String {
        position += 1
        var text = ""
        while let character = current {
            position += 1
            if character == end { return text }
            guard character == "\\", let next = current else {
                text.append(character)
                continue
            }
            position += 1
            if keepingEscapes, next != end { text.append("\\") }
            text.append(next)
        }
        throw wrong("the closing \(end) is missing")
    }

    private mutating func phrase(of field: LuceneQuery.Field) throws(DocumentStoreError) -> LuceneQuery {
        let text = try quoted(by: "\"", keepingEscapes: false)
        guard skip("~") else { return .phrase(field, text, slop: 0) }
        guard let slop = number().flatMap({ Int(exactly: $0) }) else { throw wrong("a number has to follow \"~\"") }
        return .phrase(field, text, slop: slop)
    }

    private mutating func regex(of field: LuceneQuery.Field) throws(DocumentStoreError) -> LuceneQuery {
        .regex(field, try quoted(by: "/", keepingEscapes: true))
    }

    private mutating func range(of field: LuceneQuery.Field) throws(DocumentStoreError) -> LuceneQuery {
        let includesLower = current == "["
        position += 1
        skipSpace()
        let lower = try bound()
        skipSpace()
        guard skipWord("TO") else { throw wrong("TO is missing") }
        skipSpace()
        let upper = try bound()
        skipSpace()
        let includesUpper = current == "]"
        guard skip("]") || skip("}") else { throw wrong("\"]\" or \"}\" is missing") }
        return .range(
            field, lower: lower.map { .init(word: $0, isInclusive: includesLower) },
            upper: upper.map { .init(word: $0, isInclusive: includesUpper) })
    }

    /// A word or a text in quotes; `nil` for `*`.
    private mutating func bound() throws(DocumentStoreError) -> String? {
        if current == "\"" { return try quoted(by: "\"", keepingEscapes: false) }
        var word = ""
        while let character = current, !character.isWhitespace, character != "]", character != "}" {
            position += 1
            if character == "\\", let next = current {
                word.append(next)
                position += 1
            } else {
                word.append(character)
            }
        }
        if word.isEmpty { throw wrong("a bound is missing") }
        return word == "*" ? nil : word
    }
}
