import DocumentModel

/// A source of JavaScript without its comments, for checks that look for names in it. Line breaks stay, so that places are those of the source.
///
/// A division is told from a regular expression by what precedes it. A mistake ends with its line.
struct ScriptText {
    /// The source without comments.
    private(set) var code: [UInt8]
    /// The code with blanks in place of what texts, templates and regular expressions contain.
    private(set) var bare: [UInt8]

    /// After these words comes an expression, and not an operator.
    private static let openingWords = [
        "return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "do", "else", "await", "yield",
        "instanceof",
    ].map { Array($0.utf8) }

    init(_ source: String) {
        code = Array(source.utf8)
        bare = code
        var at = 0
        /// For each template around, how many braces are open in its expression.
        var templates: [Int] = []
        while at < code.count {
            switch code[at] {
            case UInt8(ascii: "/") where next(at) == UInt8(ascii: "/"): at = blankLine(from: at)
            case UInt8(ascii: "/") where next(at) == UInt8(ascii: "*"): at = blankComment(from: at)
            case UInt8(ascii: "/"): at = begins(expressionAt: at) ? endOfPattern(at) ?? at + 1 : at + 1
            case UInt8(ascii: "'"), UInt8(ascii: "\""): at = endOfText(at)
            case UInt8(ascii: "`"): at = endOfTemplate(at + 1, &templates)
            case UInt8(ascii: "{"):
                if !templates.isEmpty { templates[templates.count - 1] += 1 }
                at += 1
            case UInt8(ascii: "}"):
                guard let open = templates.last else {
                    at += 1
                    continue
                }
                if open == 0 {
                    templates.removeLast()
                    at = endOfTemplate(at + 1, &templates)
                } else {
                    templates[templates.count - 1] -= 1
                    at += 1
                }
            default: at += 1
            }
        }
    }

    /// The lines, counted from 1, as code and bare, without the white space at their beginning.
    var lines: [(code: String, bare: ArraySlice<UInt8>, number: Int)] {
        var lines: [(code: String, bare: ArraySlice<UInt8>, number: Int)] = []
        var (start, number) = (0, 1)
        while start < code.count {
            let end = code[start...].firstIndex(where: Self.isBreak) ?? code.count
            let begin = code[start..<end].firstIndex { !Self.isSpace($0) } ?? end
            lines.append((String(decoding: code[begin..<end], as: UTF8.self), bare[begin..<end], number))
            start =
                end
                + (end + 1 < code.count && code[end] == UInt8(ascii: "\r") && code[end + 1] == UInt8(ascii: "\n")
                    ? 2 : 1)
            number += 1
        }
        return lines
    }

    /// The line of a place, counted from 1.
    func line(at offset: Int) -> Int {
        var line = 1
        for (place, byte) in code[..<offset].enumerated()
        where byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") && next(place) != UInt8(ascii: "\n") {
            line += 1
        }
        return line
    }

    /// Whether a byte is part of a name.
    static func isName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"), 0x80...:
            true
        default: false
        }
    }

    static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    // MARK: Reading

    private func next(_ at: Int) -> UInt8? { at + 1 < code.count ? code[at + 1] : nil }

    private static func isBreak(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") }

    private mutating func blankLine(from start: Int) -> Int {
        var at = start
        while at < code.count, !Self.isBreak(code[at]) {
            (code[at], bare[at]) = (0x20, 0x20)
            at += 1
        }
        return at
    }

    private mutating func blankComment(from start: Int) -> Int {
        var at = start
        var wasStar = false
        while at < code.count {
            let byte = code[at]
            if !Self.isBreak(byte) { (code[at], bare[at]) = (0x20, 0x20) }
            at += 1
            if wasStar, byte == UInt8(ascii: "/"), at > start + 3 { break }
            wasStar = byte == UInt8(ascii: "*")
        }
        return at
    }

    /// Whether an expression can begin at a place, so that a slash there begins a regular expression.
    private func begins(expressionAt place: Int) -> Bool {
        var at = place - 1
        while at >= 0, Self.isSpace(code[at]) { at -= 1 }
        guard at >= 0 else { return true }
        switch code[at] {
        case UInt8(ascii: ")"), UInt8(ascii: "]"), UInt8(ascii: "}"), UInt8(ascii: "'"), UInt8(ascii: "\""),
            UInt8(ascii: "`"):
            return false
        case let byte where Self.isName(byte):
            var start = at
            while start > 0, Self.isName(code[start - 1]) { start -= 1 }
            return Self.openingWords.contains { $0.elementsEqual(code[start...at]) }
        default: return true
        }
    }

    /// The most bytes of a regular expression: what has no end is looked through for each slash in it.
    private static let patternLimit = 500

    /// Blanks a regular expression, and returns the place after it; `nil` if it has no end on its line.
    private mutating func endOfPattern(_ start: Int) -> Int? {
        var at = start + 1
        var isClass = false
        while at < min(code.count, start + Self.patternLimit), !Self.isBreak(code[at]) {
            switch code[at] {
            case UInt8(ascii: "\\"): at += 1
            case UInt8(ascii: "["): isClass = true
            case UInt8(ascii: "]"): isClass = false
            case UInt8(ascii: "/") where !isClass:
                for place in start + 1..<at { bare[place] = 0x20 }
                return at + 1
            default: break
            }
            at += 1
        }
        return nil
    }

    private mutating func endOfText(_ start: Int) -> Int {
        let quote = code[start]
        var at = start + 1
        while at < code.count, code[at] != quote, !Self.isBreak(code[at]) {
            bare[at] = 0x20
            if code[at] == UInt8(ascii: "\\"), at + 1 < code.count {
                at += 1
                if !Self.isBreak(code[at]) { bare[at] = 0x20 }
            }
            at += 1
        }
        return min(at + 1, code.count)
    }

    /// Blanks a template, from a place inside of it to its end or to an expression in it.
    private mutating func endOfTemplate(_ start: Int, _ templates: inout [Int]) -> Int {
        var at = start
        while at < code.count {
            switch code[at] {
            case UInt8(ascii: "`"): return at + 1
            case UInt8(ascii: "$") where next(at) == UInt8(ascii: "{"):
                templates.append(0)
                return at + 2
            case UInt8(ascii: "\\"):
                bare[at] = 0x20
                at += 1
                if at < code.count, !Self.isBreak(code[at]) { bare[at] = 0x20 }
            case let byte where !Self.isBreak(byte): bare[at] = 0x20
            default: break
            }
            at += 1
        }
        return at
    }
}
