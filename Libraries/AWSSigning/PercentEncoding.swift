/// Percent-encoding as AWS requires it: of all bytes but the unreserved characters of RFC 3986.
public enum PercentEncoding {
    /// - Parameter kept: further characters that aren't encoded, such as the slashes of a path.
    public static func encode(_ text: String, keeping kept: String = "") -> String {
        var result = ""
        for byte in text.utf8 {
            let character = Character(UnicodeScalar(byte))
            if byte < 0x80,
                character.isLetter || character.isNumber || "-._~".contains(character) || kept.contains(character)
            {
                result.append(character)
            } else {
                result += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return result
    }

    /// Pairs as a query or form, in their order.
    public static func encode(_ pairs: [(String, String)]) -> String {
        pairs.map { "\(encode($0.0))=\(encode($0.1))" }.joined(separator: "&")
    }
}
