public import DocumentModel

/// Translates a regular expression of Lucene, which matches whole texts, into one of Postgres (an "advanced regular expression",
/// Postgres manual 9.7.3).
///
/// `. ? + * | { } [ ] ( )` have their usual meaning, `"…"` is a text without special characters, `@` any text, `#` none; `\d`, `\s`,
/// `\w` and their opposites are classes. There are no anchors. A translated expression has neither back references nor assertions, so
/// Postgres matches it in a time that is proportional to the text, and whether it can match never depends on the text. Its size is
/// bounded.
///
/// Intersection (`&`), complement (`~`) and numeric intervals (`<1-9>`) can't be expressed in Postgres and are refused.
public struct LucenePattern {
    private var scanner: ScalarScanner
    private let folded: (String) -> String
    private var depth = 0
    /// The number of atoms so far, each multiplied by its count.
    private var size = 0

    private static let depthLimit = 50
    private static let sizeLimit = 1000

    /// - Parameters:
    ///   - pattern: the expression.
    ///   - folded: what is done to the texts that are compared, such as removing accents; it is done to the literal characters of the
    ///     expression as well.
    /// - Returns: an expression that matches whole texts.
    /// - Throws: `QueryError` 51091 for an expression that is malformed or too large, 115 for one that has what isn't supported.
    public static func translating(
        _ pattern: String, folding folded: @escaping (String) -> String = { $0 }
    ) throws(QueryError) -> String {
        var translation = LucenePattern(scanner: ScalarScanner(pattern), folded: folded)
        let text = try translation.alternatives()
        if translation.current != nil { throw translation.wrong("unexpected \")\"") }
        return "^(?:\(text))$"
    }

    private init(scanner: ScalarScanner, folded: @escaping (String) -> String) {
        self.scanner = scanner
        self.folded = folded
    }

    private func wrong(_ what: String) -> QueryError {
        QueryError(code: 51091, message: "Regular expression is invalid at position \(scanner.position): \(what)")
    }

    // MARK: Structure

    private var current: Unicode.Scalar? { scanner.current }

    private mutating func next() throws(QueryError) -> Unicode.Scalar {
        guard let scalar = scanner.next() else { throw wrong("it ends too early") }
        return scalar
    }

    private mutating func skip(_ text: String) -> Bool { scanner.skip(text) }

    private mutating func alternatives() throws(QueryError) -> String {
        depth += 1
        defer { depth -= 1 }
        guard depth <= Self.depthLimit else { throw wrong("it is nested too deeply") }
        var branches = [""]
        while let scalar = current, scalar != ")" {
            if skip("|") { branches.append("") } else { branches[branches.count - 1] += try piece() }
        }
        return branches.joined(separator: "|")
    }

    /// An atom with its quantifiers.
    private mutating func piece() throws(QueryError) -> String {
        let before = size
        var text = try atom()
        size += 1
        while let (quantifier, most) = try quantifier() {
            size = before + (size - before) * max(most, 1)
            text = "(?:\(text))\(quantifier)"
            guard size <= Self.sizeLimit else { throw wrong("it is too large") }
        }
        guard size <= Self.sizeLimit else { throw wrong("it is too large") }
        return text
    }

    /// - Returns: the quantifier, and how many copies of its atom count towards `size`; `nil` if there is none.
    private mutating func quantifier() throws(QueryError) -> (text: String, most: Int)? {
        switch current {
        case "*", "+", "?": return (String(try next()), 1)
        case "{":
            scanner.position += 1
            guard let least = scanner.number() else { throw wrong("a number has to follow \"{\"") }
            var text = "{\(least)"
            var most = least
            if skip(",") {
                let upper = scanner.number()
                text += "," + (upper.map { "\($0)" } ?? "")
                if let upper, upper < least { throw wrong("the counts are in the wrong order") }
                most = upper ?? least
            }
            guard skip("}") else { throw wrong("\"}\" is missing") }
            guard most <= PostgresSyntax.countLimit else {
                throw wrong("a count is above \(PostgresSyntax.countLimit)")
            }
            return (text + "}", most)
        default: return nil
        }
    }

    // MARK: Atoms

    private mutating func atom() throws(QueryError) -> String {
        let scalar = try next()
        switch scalar {
        case ".": return "."
        case "@": return "(?:.*)"
        // Nothing follows the end.
        case "#": return "(?:$.)"
        case "(":
            let text = try alternatives()
            guard skip(")") else { throw wrong("\")\" is missing") }
            return "(?:\(text))"
        case "[": return try characterClass()
        case "\"":
            var text = ""
            while !skip("\"") {
                text += literal(try next())
                size += 1
            }
            return "(?:\(text))"
        case "\\": return try escape()
        case "&": throw .notSupported("the intersection (&) in a regular expression of $search")
        case "~": throw .notSupported("the complement (~) in a regular expression of $search")
        case "<": throw .notSupported("a numeric interval (<…>) in a regular expression of $search")
        case "*", "+", "?", "{": throw wrong("nothing to repeat")
        default: return literal(scalar)
        }
    }

    private mutating func escape() throws(QueryError) -> String {
        let scalar = try next()
        return Self.members(of: scalar).map { $0.isNegated ? "[^\($0.text)]" : "[\($0.text)]" } ?? literal(scalar)
    }

    /// The characters of a class such as `\d`.
    private static func members(of scalar: Unicode.Scalar) -> (text: String, isNegated: Bool)? {
        switch scalar {
        case "d": ("0-9", false)
        case "D": ("0-9", true)
        case "w": (PostgresSyntax.wordCharacters, false)
        case "W": (PostgresSyntax.wordCharacters, true)
        case "s": (PostgresSyntax.spaceCharacters, false)
        case "S": (PostgresSyntax.spaceCharacters, true)
        default: nil
        }
    }

    private func literal(_ scalar: Unicode.Scalar) -> String {
        let text = folded(String(scalar)).unicodeScalars.map { PostgresSyntax.literal($0) }
        return text.count == 1 ? text[0] : "(?:\(text.joined()))"
    }

    // MARK: Classes

    private mutating func characterClass() throws(QueryError) -> String {
        let isNegated = skip("^")
        var text = ""
        while !skip("]") {
            var scalar = try next()
            if scalar == "\\" {
                scalar = try next()
                if let members = Self.members(of: scalar) {
                    if members.isNegated { throw .notSupported("\\\(scalar) in a class of a regular expression") }
                    text += members.text
                    continue
                }
            }
            // A hyphen before the end represents itself.
            guard current == "-", scanner.position + 1 < scanner.scalars.count,
                scanner.scalars[scanner.position + 1] != "]"
            else {
                text += member(scalar)
                continue
            }
            scanner.position += 1
            var last = try next()
            if last == "\\" { last = try next() }
            guard scalar.value <= last.value else { throw wrong("a range is in the wrong order") }
            text += "\(PostgresSyntax.literal(scalar))-\(PostgresSyntax.literal(last))"
        }
        if text.isEmpty { throw wrong("a class is empty") }
        return (isNegated ? "[^" : "[") + text + "]"
    }

    /// A character of a class. Only one that folds into one character can be folded.
    private func member(_ scalar: Unicode.Scalar) -> String {
        let text = folded(String(scalar)).unicodeScalars
        return PostgresSyntax.literal(text.count == 1 ? text.first ?? scalar : scalar)
    }
}
