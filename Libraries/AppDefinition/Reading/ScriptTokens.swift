import DocumentModel

/// The names and signs of a script, with what simple checks need to know of its structure.
struct ScriptTokens {
    /// A name, a number, or one sign.
    struct Token {
        var range: Range<Int>
        var isName: Bool
        /// Counted from 1.
        var line: Int
        /// The index of the bracket that belongs to this one.
        var partner: Int?
    }

    let script: ScriptText
    private(set) var tokens: [Token] = []

    init(_ script: ScriptText) {
        self.script = script
        let bytes = script.bare
        var open: [Int] = []
        var (at, line) = (0, 1)
        while at < bytes.count {
            if ScriptText.isSpace(bytes[at]) {
                let isPair =
                    bytes[at] == UInt8(ascii: "\r") && at + 1 < bytes.count && bytes[at + 1] == UInt8(ascii: "\n")
                if bytes[at] == UInt8(ascii: "\n") || bytes[at] == UInt8(ascii: "\r") && !isPair { line += 1 }
                at += 1
                continue
            }
            let start = at
            while at < bytes.count, ScriptText.isName(bytes[at]) { at += 1 }
            if at > start {
                tokens.append(Token(range: start..<at, isName: true, line: line))
                continue
            }
            at += 1
            switch bytes[start] {
            case UInt8(ascii: "("), UInt8(ascii: "["), UInt8(ascii: "{"): open.append(tokens.count)
            case UInt8(ascii: ")"), UInt8(ascii: "]"), UInt8(ascii: "}"):
                tokens.append(Token(range: start..<at, isName: false, line: line, partner: open.popLast()))
                if let partner = tokens[tokens.count - 1].partner { tokens[partner].partner = tokens.count - 1 }
                continue
            default: break
            }
            tokens.append(Token(range: start..<at, isName: false, line: line))
        }
    }

    func text(_ index: Int) -> String { String(decoding: script.bare[tokens[index].range], as: UTF8.self) }

    /// Whether a token is this name or sign.
    func has(_ text: StaticString, at index: Int) -> Bool {
        guard tokens.indices.contains(index) else { return false }
        let bytes = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        return script.bare[tokens[index].range].elementsEqual(bytes)
    }

    /// The indices of the tokens that are a name, and not the name of an object's member.
    func places(of name: String) -> [Int] {
        tokens.indices.filter { index in
            tokens[index].isName && script.bare[tokens[index].range].elementsEqual(name.utf8)
                && !has(".", at: index - 1)
        }
    }

    /// The index of the name after a token, as in `.name` and `?.name`.
    func member(after index: Int) -> Int? {
        let dot = has("?", at: index + 1) ? index + 2 : index + 1
        guard has(".", at: dot), tokens.indices.contains(dot + 1), tokens[dot + 1].isName else { return nil }
        return dot + 1
    }

    /// The index of the closing bracket of a call whose method's name is at an index.
    func endOfCall(_ index: Int) -> Int? { has("(", at: index + 1) ? tokens[index + 1].partner : nil }

    /// What the text says that begins at an index, without its quotes; `nil` for anything else.
    func literal(at index: Int) -> String? {
        guard tokens.indices.contains(index + 1),
            ["'", "\"", "`"].contains(where: { has($0, at: index) && has($0, at: index + 1) })
        else { return nil }
        let inside = tokens[index].range.upperBound..<tokens[index + 1].range.lowerBound
        return String(decoding: script.code[inside], as: UTF8.self)
    }

    /// The texts that variables are assigned, by their names; without those that are assigned several times, or something else.
    var assignedTexts: [ExactText: String] {
        var texts: [ExactText: String?] = [:]
        for index in tokens.indices
        where tokens[index].isName && has("=", at: index + 1) && !has("=", at: index + 2) && !has(".", at: index - 1) {
            let name = ExactText(text(index))
            texts[name] = .some(texts[name] == nil ? literal(at: index + 2) : nil)
        }
        return texts.compactMapValues(\.self)
    }

    /// Whether the script declares a name, as a variable, a function, a parameter or an import.
    func declares(_ name: String) -> Bool {
        places(of: name).contains { place in
            if Self.declaring.contains(where: { has($0, at: place - 1) }) { return true }
            // An assignment, or the one parameter of an arrow function.
            if has("=", at: place + 1), !has("=", at: place + 2) { return true }
            let isPart =
                ["(", ",", "{", "[", ":", "."].contains { has($0, at: place - 1) }
                && [")", ",", "}", "]", ":", "="].contains { has($0, at: place + 1) }
            return isPart && isInPattern(place)
        }
    }

    private static let declaring: [StaticString] = ["const", "let", "var", "function", "class", "import"]
    private static let conditions: [StaticString] = ["if", "while", "switch", "for"]
    /// The most tokens that are looked at from one place, since each name of a script may be one.
    private static let reach = 1000

    /// Whether a name is in a list of parameters, or in the pattern of a declaration.
    private func isInPattern(_ place: Int) -> Bool {
        var place = place
        for _ in 0..<8 {
            guard let open = openBracket(before: place), let close = tokens[open].partner else { return false }
            if has("(", at: open) {
                if Self.conditions.contains(where: { has($0, at: open - 1) }) { return false }
                return has("{", at: close + 1) || has("=", at: close + 1) && has(">", at: close + 2)
            }
            if Self.declaring.contains(where: { has($0, at: open - 1) }) { return true }
            guard ["(", ",", "{", "[", ":"].contains(where: { has($0, at: open - 1) }) else { return false }
            place = open
        }
        return false
    }

    private func openBracket(before place: Int) -> Int? {
        var index = place - 1
        for _ in 0..<Self.reach where index >= 0 {
            if !tokens[index].isName, let partner = tokens[index].partner {
                if partner > index { return index }
                index = partner
            }
            index -= 1
        }
        return nil
    }

    /// The variable to which an expression is assigned that ends with a member whose name is at an index, as in
    /// `const name = a.b().member()`.
    func variable(ofExpressionWith member: Int) -> String? {
        var (start, steps) = (member, 0)
        for _ in 0..<Self.reach where has(".", at: start - 1) {
            let former = start
            var end = start - 2
            if has("?", at: end) { end -= 1 }
            while has(")", at: end) || has("]", at: end) {
                steps += 1
                guard steps < Self.reach, let partner = tokens[end].partner else { return nil }
                start = partner
                end = partner - 1
            }
            if end >= 0, tokens[end].isName { start = end }
            if start == former { return nil }
        }
        if has("await", at: start - 1) { start -= 1 }
        let assigned = start - 2
        guard has("=", at: start - 1), assigned >= 0, tokens[assigned].isName else { return nil }
        return text(assigned)
    }
}
