/// Translates a regular expression of PCRE2, without options, into one of Postgres (an "advanced regular expression", Postgres
/// manual 9.7.3) that matches the same texts.
///
/// The two differ in what a dot, `$`, `\d`, `\w`, `\s` and `\b` mean, in the names of groups and in escapes. Features that Postgres
/// can't express aren't translated: Unicode properties, back references, atomic groups and possessive quantifiers, options inside
/// the pattern, recursion, counts above 255, and nested counts that are too complex for Postgres.
public struct PostgresPattern {
    private struct Unequal: Error {}

    private var scanner: ScalarScanner
    private var depth = 0
    /// The number of atoms so far, each multiplied by its count.
    private var size = 0

    private static let depthLimit = 50
    /// The most atoms; Postgres refuses about ten times as many.
    private static let sizeLimit = 5000

    private init(_ pattern: String) { scanner = ScalarScanner(pattern) }

    /// - Parameter pattern: a pattern that PCRE2 can compile.
    /// - Returns: `nil` if Postgres can't express the pattern.
    public static func translating(_ pattern: String) -> String? {
        var translation = PostgresPattern(pattern)
        guard let text = try? translation.alternatives(), translation.current == nil else {
            return nil  // the pattern can't be expressed
        }
        // In a group, so that Postgres doesn't read its beginning as embedded options.
        return "(?:\(text))"
    }

    // MARK: Structure

    private var current: Unicode.Scalar? { scanner.current }

    private mutating func next() throws(Unequal) -> Unicode.Scalar {
        guard let scalar = scanner.next() else { throw Unequal() }
        return scalar
    }

    private mutating func skip(_ text: String) -> Bool { scanner.skip(text) }

    private mutating func alternatives() throws(Unequal) -> String {
        depth += 1
        defer { depth -= 1 }
        guard depth <= Self.depthLimit else { throw Unequal() }
        var branches = [""]
        while let scalar = current, scalar != ")" {
            if scalar == "|" {
                scanner.position += 1
                branches.append("")
                continue
            }
            branches[branches.count - 1] += try piece()
        }
        return branches.joined(separator: "|")
    }

    /// Translates an atom with its quantifier.
    private mutating func piece() throws(Unequal) -> String {
        let before = size
        let (text, isAssertion) = try atom()
        size += 1
        guard let (quantifier, most) = try quantifier() else { return text }
        size = before + (size - before) * max(most, 1)
        guard size <= Self.sizeLimit else { throw Unequal() }
        if isAssertion { throw Unequal() }
        // Whether a quantifier is greedy doesn't affect whether the pattern matches.
        _ = skip("?")
        if current == "+" { throw Unequal() }
        if try self.quantifier() != nil { throw Unequal() }
        return "(?:\(text))\(quantifier)"
    }

    /// - Returns: the quantifier, and how many copies of its atom count towards `size`; `nil` if there is none.
    private mutating func quantifier() throws(Unequal) -> (text: String, most: Int)? {
        switch current {
        case "*", "+", "?": return (String(try next()), 1)
        case "{":
            let start = scanner.position
            scanner.position += 1
            let least = scanner.number()
            if let least {
                var most: Int?? = least
                if skip(",") { most = .some(scanner.number()) }
                if skip("}") {
                    guard least <= PostgresSyntax.countLimit, (most ?? nil) ?? 0 <= PostgresSyntax.countLimit else {
                        throw Unequal()
                    }
                    return (
                        String(String.UnicodeScalarView(scanner.scalars[start..<scanner.position])),
                        max(least, (most ?? nil) ?? 0)
                    )
                }
            }
            // Later versions of PCRE2 also read `{,3}` and spaces as quantifiers.
            if least == nil, current == "," || current == " " { throw Unequal() }
            scanner.position = start
            return nil
        default: return nil
        }
    }

    // MARK: Atoms

    private mutating func atom() throws(Unequal) -> (text: String, isAssertion: Bool) {
        let scalar = try next()
        switch scalar {
        case ".": return (#"[^\n]"#, false)
        case "^": return ("^", true)
        case "$": return (#"(?=\n?\Z)"#, true)
        case "(": return try group()
        case "[": return (try characterClass(), false)
        case "\\": return try escape()
        case "*", "+", "?": throw Unequal()
        default: return (PostgresSyntax.literal(scalar), false)
        }
    }

    private mutating func group() throws(Unequal) -> (String, Bool) {
        var opening = "(?:"
        if skip("*") { throw Unequal() }
        if skip("?") {
            switch try next() {
            case ":": break
            case "=": opening = "(?="
            case "!": opening = "(?!"
            case "<":
                if skip("=") {
                    opening = "(?<="
                } else if skip("!") {
                    opening = "(?<!"
                } else {
                    try name(endingWith: ">")
                }
            case "P":
                guard skip("<") else { throw Unequal() }
                try name(endingWith: ">")
            case "'": try name(endingWith: "'")
            default: throw Unequal()
            }
        }
        let text = try alternatives()
        guard try next() == ")" else { throw Unequal() }
        return ("\(opening)\(text))", opening != "(?:")
    }

    private mutating func name(endingWith end: Unicode.Scalar) throws(Unequal) {
        while try next() != end {}
    }

    private mutating func escape() throws(Unequal) -> (String, Bool) {
        let word = "[\(PostgresSyntax.wordCharacters)]"
        switch try next() {
        case "d": return ("[0-9]", false)
        case "D": return ("[^0-9]", false)
        case "w": return (word, false)
        case "W": return ("[^\(PostgresSyntax.wordCharacters)]", false)
        case "s": return ("[\(PostgresSyntax.spaceCharacters)]", false)
        case "S": return ("[^\(PostgresSyntax.spaceCharacters)]", false)
        case "b": return ("(?:(?<=\(word))(?!\(word))|(?<!\(word))(?=\(word)))", true)
        case "B": return ("(?:(?<=\(word))(?=\(word))|(?<!\(word))(?!\(word)))", true)
        case "A": return ("^", true)
        case "z": return (#"\Z"#, true)
        case "Z": return (#"(?=\n?\Z)"#, true)
        case let scalar: return (PostgresSyntax.literal(try character(escapedAs: scalar)), false)
        }
    }

    /// The single character that an escape represents.
    private mutating func character(escapedAs scalar: Unicode.Scalar) throws(Unequal) -> Unicode.Scalar {
        switch scalar {
        case "t": return "\t"
        case "n": return "\n"
        case "r": return "\r"
        case "f": return "\u{C}"
        case "e": return "\u{1B}"
        case "a": return "\u{7}"
        case "x":
            var digits = ""
            if skip("{") {
                while let digit = current, digit != "}" { digits.unicodeScalars.append(try next()) }
                guard skip("}") else { throw Unequal() }
            } else {
                while digits.utf8.count < 2, let digit = current, digit.properties.isASCIIHexDigit {
                    digits.unicodeScalars.append(try next())
                }
            }
            guard let code = UInt32(digits, radix: 16), code > 0, let character = Unicode.Scalar(code) else {
                throw Unequal()
            }
            return character
        default:
            // Escaped letters and digits have special meanings; all other characters represent themselves.
            let isPlain = !scalar.isASCII || !(scalar.properties.isAlphabetic || ("0"..."9").contains(scalar))
            guard isPlain else { throw Unequal() }
            return scalar
        }
    }

    // MARK: Classes

    private mutating func characterClass() throws(Unequal) -> String {
        let isNegated = skip("^")
        var text = ""
        var isFirst = true
        while true {
            if current == "]", !isFirst { break }
            isFirst = false
            if current == "[", let name = posixName() {
                text += try Self.posixClass(name)
                continue
            }
            guard let first = try member(&text) else { continue }
            // A hyphen before the end represents itself.
            guard current == "-", scanner.position + 1 < scanner.scalars.count,
                scanner.scalars[scanner.position + 1] != "]"
            else {
                text += Self.member(first)
                continue
            }
            scanner.position += 1
            var other = ""
            // `[a-\d]` and `[a-[:digit:]]` aren't ranges.
            if current == "[", posixName() != nil { throw Unequal() }
            guard let last = try member(&other), first.value <= last.value else { throw Unequal() }
            text += "\(Self.member(first))-\(Self.member(last))"
        }
        scanner.position += 1
        return (isNegated ? "[^" : "[") + text + "]"
    }

    /// Reads one character; `nil` if a class was appended to the text instead.
    private mutating func member(_ text: inout String) throws(Unequal) -> Unicode.Scalar? {
        let scalar = try next()
        guard scalar == "\\" else { return scalar }
        switch try next() {
        case "d": text += "0-9"
        case "w": text += PostgresSyntax.wordCharacters
        case "s": text += PostgresSyntax.spaceCharacters
        case "b": return "\u{8}"
        case let escaped: return try character(escapedAs: escaped)
        }
        if current == "-" { throw Unequal() }
        return nil
    }

    private static func member(_ scalar: Unicode.Scalar) -> String {
        if let code = PostgresSyntax.code(ofControl: scalar) { return code }
        return "]^-[\\".unicodeScalars.contains(scalar) ? "\\\(scalar)" : String(scalar)
    }

    /// Reads the POSIX class at the current place, if there is one, and returns its name.
    private mutating func posixName() -> String? {
        let rest = scanner.rest
        guard rest.starts(with: "[:".unicodeScalars),
            let end = rest.dropFirst(2).firstIndex(where: { !$0.properties.isAlphabetic && $0 != "^" }),
            scanner.scalars[end...].starts(with: ":]".unicodeScalars)
        else { return nil }
        defer { scanner.position = end + 2 }
        return String(String.UnicodeScalarView(scanner.scalars[(scanner.position + 2)..<end]))
    }

    private static func posixClass(_ name: String) throws(Unequal) -> String {
        switch name {
        case "alpha": "A-Za-z"
        case "digit": "0-9"
        case "alnum": "0-9A-Za-z"
        case "upper": "A-Z"
        case "lower": "a-z"
        case "xdigit": "0-9A-Fa-f"
        case "word": PostgresSyntax.wordCharacters
        case "space": PostgresSyntax.spaceCharacters
        case "blank": #" \t"#
        case "punct": #"!-/:-@\[-`{-~"#
        default: throw Unequal()
        }
    }
}
