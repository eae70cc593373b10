/// The syntax of Postgres' "advanced regular expressions" (manual 9.7.3).
enum PostgresSyntax {
    /// The members of `\w` and of `\s` without Unicode.
    static let wordCharacters = "0-9A-Za-z_"
    static let spaceCharacters = #" \t\n\v\f\r"#
    /// The largest count of a quantifier.
    static let countLimit = 255

    /// The expression that matches a character.
    static func literal(_ scalar: Unicode.Scalar) -> String {
        if let code = code(ofControl: scalar) { return code }
        let isSpecial = scalar.isASCII && !scalar.properties.isAlphabetic && !("0"..."9").contains(scalar)
        return isSpecial && scalar != " " && scalar != "_" ? "\\\(scalar)" : String(scalar)
    }

    /// A control character by its number; `nil` for any other one.
    static func code(ofControl scalar: Unicode.Scalar) -> String? {
        guard scalar.value < 0x20 || scalar.value == 0x7F else { return nil }
        let digits = String(scalar.value, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
    }
}
