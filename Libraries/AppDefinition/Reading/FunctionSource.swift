import DocumentModel

/// Checks of a function's source that don't run it. A regular expression is parsed at each use, and dividing a source into lines takes its
/// time too, so that both are done only where the bytes have a word without which nothing is found.
enum FunctionSource {
    /// Whether there is an assignment to `exports` outside of comments.
    static func assignsExports(_ source: String) -> Bool {
        source.containsBytes(of: "exports") && ScriptText(source).lines.contains { hasAssignment($0.code[...]) }
    }

    /// The modules that are required with a literal name, or imported, with the lines, counted from 1, that first name them.
    static func requiredPackages(_ source: String) -> [(name: String, line: Int)] {
        let words = ["require", "import", "from"].filter(source.containsBytes(of:))
        if words.isEmpty { return [] }
        var found: [(name: String, line: Int)] = []
        var names: Set<ExactText> = []
        func add(_ name: Substring, _ line: Int) {
            if names.insert(ExactText(String(name))).inserted { found.append((String(name), line)) }
        }
        for (line, bare, number) in ScriptText(source).lines where words.contains(where: line.containsBytes(of:)) {
            // What begins with a blank is inside of a text.
            func isCode(_ place: String.Index) -> Bool {
                bare[bare.startIndex + line.utf8.distance(from: line.startIndex, to: place)] != 0x20
            }
            for match in line.matches(of: /\b(?:require|import)\s*\(\s*["'`]([^"'`$]+)["'`]\s*\)/)
            where isCode(match.range.lowerBound) {
                add(match.1, number)
            }
            // The last line of a static import, which may have begun on an earlier one.
            if let match = line.firstMatch(of: /^(?:import\b[^"']*|[^"']*\}\s*from\s*)["']([^"']+)["']\s*;?\s*$/),
                isCode(match.range.lowerBound)
            {
                add(match.1, number)
            }
        }
        return found
    }

    /// The services that are used by a literal name, or by a variable that is assigned one, with the lines, counted from 1.
    static func usedServices(_ source: String) -> [(name: String, line: Int)] {
        guard source.containsBytes(of: "services") else { return [] }
        let script = ScriptTokens(ScriptText(source))
        let texts = script.assignedTexts
        return script.tokens.indices.compactMap { index in
            guard script.has("services", at: index), let get = script.member(after: index), script.has("get", at: get),
                script.has("(", at: get + 1)
            else { return nil }
            let isVariable = script.has(")", at: get + 3)
            let name = isVariable ? texts[ExactText(script.text(get + 2))] : script.literal(at: get + 2)
            return name.map { ($0, script.tokens[index].line) }
        }
    }

    /// The lines, counted from 1, that call a method of one of these names, as `.name(`.
    static func calls(of names: [String], in source: String) -> [(name: String, line: Int)] {
        let names = names.filter(source.containsBytes(of:))
        if names.isEmpty { return [] }
        return ScriptText(source).lines.filter { names.contains(where: $0.code.containsBytes(of:)) }.flatMap { line in
            line.code.matches(of: /\.\s*([A-Za-z0-9]+)\s*\(/).map { String($0.1) }.filter(names.containsExactly)
                .map { ($0, line.number) }
        }
    }

    /// The line, counted from 1, at which a private key begins (RFC 7468).
    static func lineOfPrivateKey(_ source: String) -> Int? {
        let words = "PRIVATE KEY"
        guard source.containsBytes(of: words) else { return nil }
        return source.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
            .firstIndex { $0.containsBytes(of: words) && $0.contains(/-----BEGIN [A-Z ]*PRIVATE KEY-----/) }
            .map { $0 + 1 }
    }

    /// The number of lines that contain text; at least one.
    static func lineCount(_ source: String) -> Int {
        let lines = source.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        return max(1, lines.last?.isEmpty == true ? lines.count - 1 : lines.count)
    }

    private static func hasAssignment(_ line: Substring) -> Bool {
        var rest = line
        guard line.containsBytes(of: "exports") else { return false }
        while let place = rest.firstRange(of: "exports") {
            let before = rest[..<place.lowerBound].last
            let behind = rest[place.upperBound...].drop(while: \.isWhitespace)
            rest = rest[place.upperBound...]
            // `module.exports` doesn't exist here, and `myExports` is a different name.
            if before.map({ $0 == "." || $0 == "_" || $0 == "$" || $0.isLetter || $0.isNumber }) == true { continue }
            if behind.isEmpty || behind.first == "=" && !behind.hasPrefix("==") && !behind.hasPrefix("=>") {
                return true
            }
        }
        return false
    }
}
