/// A text that everything contains which a regular expression of PCRE2 matches: the longest one that stands in the pattern as it is.
/// What doesn't contain it needn't be examined.
public struct RequiredText: Sendable {
    /// Not empty. In small letters if case doesn't count.
    public let text: String
    /// Whether ASCII letters of either case are the same, and with them the characters of which they are another case: U+212A for k and
    /// U+017F for s.
    public let ignoresCase: Bool

    /// - Parameter options: MongoDB's: `i`, `m`, `s`, `x`, `u`.
    /// - Returns: `nil` if no such text is known.
    public init?(of pattern: String, options: String) {
        guard options.utf8.allSatisfy({ "imsu".utf8.contains($0) }) else { return nil }
        ignoresCase = options.utf8.contains(UInt8(ascii: "i"))
        var reader = Reader(scanner: ScalarScanner(pattern), ignoresCase: ignoresCase)
        guard reader.read(), !reader.longest.isEmpty else { return nil }
        text = reader.longest
    }
}

private struct Reader {
    var scanner: ScalarScanner
    let ignoresCase: Bool
    private var run = ""
    private(set) var longest = ""

    init(scanner: ScalarScanner, ignoresCase: Bool) {
        self.scanner = scanner
        self.ignoresCase = ignoresCase
    }

    /// Reads the pattern outside of groups and classes.
    /// - Returns: false if it has something that this doesn't know, or alternatives.
    mutating func read() -> Bool {
        while let scalar = scanner.next() {
            switch scalar {
            case "|", ")": return false
            case "^", "$", ".": endRun()
            case "(":
                endRun()
                guard skipGroup() else { return false }
            case "[":
                endRun()
                guard skipClass() else { return false }
            case "*", "?", "{":
                // The character before it need not be there.
                if !run.isEmpty { run.unicodeScalars.removeLast() }
                endRun()
                guard scalar != "{" || skipCount() else { return false }
            case "+": endRun()
            case "\\":
                guard let escaped = scanner.next(), Self.isKnown(escaped) else { return false }
                if Self.isAlphanumeric(escaped) { endRun() } else { take(escaped) }
            default: take(scalar)
            }
        }
        endRun()
        return true
    }

    private mutating func take(_ scalar: Unicode.Scalar) {
        guard ignoresCase else {
            if scalar.value == 0 { endRun() } else { run.unicodeScalars.append(scalar) }
            return
        }
        guard scalar.isASCII, scalar.value != 0 else { return endRun() }
        run += Character(scalar).lowercased()
    }

    private mutating func endRun() {
        if run.utf8.count > longest.utf8.count { longest = run }
        run = ""
    }

    /// Goes on behind a group, whose beginning has been read.
    private mutating func skipGroup() -> Bool {
        var depth = 1
        guard skipOpening() else { return false }
        while depth > 0 {
            switch scanner.next() {
            case nil: return false
            case "(":
                depth += 1
                guard skipOpening() else { return false }
            case ")": depth -= 1
            case "[": guard skipClass() else { return false }
            case "\\": guard let escaped = scanner.next(), Self.isKnown(escaped) else { return false }
            default: break
            }
        }
        return true
    }

    /// - Returns: false for options, comments, conditions and verbs, which may change what comes after them.
    private mutating func skipOpening() -> Bool {
        if scanner.current == "*" { return false }
        guard scanner.skip("?") else { return true }
        return [":", "=", "!", "<", "P<"].contains { scanner.skip($0) }
    }

    /// Goes on behind a class, whose `[` has been read.
    private mutating func skipClass() -> Bool {
        _ = scanner.skip("^")
        _ = scanner.skip("]")
        while let scalar = scanner.next() {
            switch scalar {
            case "]": return true
            case "[": if [":", ".", "="].contains(scanner.current) { return false }
            case "\\": guard let escaped = scanner.next(), Self.isKnown(escaped) else { return false }
            default: break
            }
        }
        return false
    }

    /// Goes on behind a count, whose `{` has been read.
    private mutating func skipCount() -> Bool {
        guard scanner.number() != nil else { return false }
        if scanner.skip(",") { _ = scanner.number() }
        return scanner.skip("}")
    }

    private static func isAlphanumeric(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isAlphabetic || ("0"..."9").contains(scalar)
    }

    /// Whether an escape is a character by itself, a class, or an assertion.
    private static func isKnown(_ scalar: Unicode.Scalar) -> Bool {
        scalar.isASCII && (!isAlphanumeric(scalar) || "dDwWsSbBAZznrtfvhHRN".unicodeScalars.contains(scalar))
    }
}
