/// What can be told of a function's source without running it.
enum FunctionSource {
    /// Whether something is assigned to `exports` outside of comments that begin a line.
    static func assignsExports(_ source: String) -> Bool {
        var isComment = false
        for line in source.split(whereSeparator: \.isNewline) {
            var rest = line.drop(while: \.isWhitespace)
            if rest.hasPrefix("/*") { isComment = true }
            if isComment {
                guard let end = rest.firstRange(of: "*/") else { continue }
                isComment = false
                rest = rest[end.upperBound...]
            }
            if rest.hasPrefix("//") { continue }
            if hasAssignment(rest) { return true }
        }
        return false
    }

    /// How many lines an editor shows text on; at least one.
    static func lineCount(_ source: String) -> Int {
        let lines = source.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        return max(1, lines.last?.isEmpty == true ? lines.count - 1 : lines.count)
    }

    private static func hasAssignment(_ line: Substring) -> Bool {
        var rest = line
        while let place = rest.firstRange(of: "exports") {
            let before = rest[..<place.lowerBound].last
            let behind = rest[place.upperBound...].drop(while: \.isWhitespace)
            rest = rest[place.upperBound...]
            // `module.exports` isn't there, and `myExports` is another name.
            if before.map({ $0 == "." || $0 == "_" || $0 == "$" || $0.isLetter || $0.isNumber }) == true { continue }
            if behind.isEmpty || behind.first == "=" && !behind.hasPrefix("==") && !behind.hasPrefix("=>") {
                return true
            }
        }
        return false
    }
}
