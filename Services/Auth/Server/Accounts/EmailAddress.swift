/// The e-mail addresses that accounts may have: those of RFC 5321 §4.1.2, also with other letters than ASCII's (RFC 6531), without
/// quotation marks and literal addresses, which no provider gives and many mail servers refuse.
enum EmailAddress {
    /// The longest address in bytes: a path of 256 (RFC 5321 §4.5.3.1.3) without its angle brackets.
    static let maximumBytes = 254
    private static let maximumLocalBytes = 64
    /// Marks that have a meaning in a header of a mail (RFC 5322 §3.2.3), where an address could become two.
    private static let specials = Set(#",;:<>()[]\""#.unicodeScalars)

    /// - Throws: `invalidParameter` with what is wrong.
    static func check(_ text: String) throws(AuthError) {
        if let problem = problem(with: text) { throw AuthError(.invalidParameter, problem) }
    }

    /// What is wrong with an address; `nil` for a good one.
    static func problem(with text: String) -> String? {
        guard (1...maximumBytes).contains(text.utf8.count) else {
            return "the e-mail address is empty or has more than \(maximumBytes) bytes"
        }
        let isPrintable = text.unicodeScalars.allSatisfy { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator,
                .spaceSeparator:
                false
            default: true
            }
        }
        guard isPrintable else { return "an e-mail address has no spaces or control characters" }
        guard !text.unicodeScalars.contains(where: specials.contains) else {
            return "an e-mail address has none of the characters , ; : < > ( ) [ ] \\ \""
        }
        let parts = text.splitAtBytes("@")
        guard parts.count == 2, !parts[0].isEmpty, parts[0].utf8.count <= maximumLocalBytes,
            parts[1].splitAtBytes(".").allSatisfy({ !$0.isEmpty && $0.utf8.count <= 63 })
        else { return "an e-mail address is a name of at most \(maximumLocalBytes) bytes, one @ and a domain" }
        return nil
    }
}
