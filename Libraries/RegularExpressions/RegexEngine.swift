import DocumentModel

/// A compiled regular expression.
public protocol CompiledRegex: Sendable {
    /// Whether it matches anywhere in the text.
    /// - Throws: if the match exceeds its limits on steps or memory.
    func matches(_ text: String) throws(QueryError) -> Bool

    /// The first match at or after an offset: the ranges (in UTF-8 bytes) of the whole match and of each group; `nil` for a group
    /// that took no part.
    func firstMatch(in text: String, from offset: Int) throws(QueryError) -> [Range<Int>?]?
}

/// Compiles regular expressions with PCRE2 on servers, as MongoDB does, and with Foundation elsewhere.
public enum RegexEngine {
    /// - Throws: 51091 for an expression that is malformed, 51108 for an unknown option.
    public static func compile(_ expression: RegularExpression) throws(QueryError) -> any CompiledRegex {
        guard !expression.pattern.utf8.contains(0) else {
            throw .badValue("Regular expression cannot contain an embedded null byte")
        }
        for option in expression.options where !"imsxu".contains(option) {
            throw QueryError(code: 51108, message: "invalid flag in regex options: \(option)")
        }
        guard expression.pattern.utf8.count <= 32_764 else {
            throw QueryError(code: 51091, message: "Regular expression is too long")
        }
        #if os(Linux)
            return try PCRE2Regex(expression)
        #else
            return try FoundationRegex(expression)
        #endif
    }
}
