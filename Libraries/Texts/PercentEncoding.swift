/// Percent-encoding of all bytes but the unreserved characters of RFC 3986, 2.3: right in every part of a URL and in forms, and what AWS'
/// signatures require.
public enum PercentEncoding {
    /// - Parameter kept: further characters of ASCII that aren't encoded, such as the slashes of a path.
    public static func encode(_ text: String, keeping kept: String = "") -> String {
        text.utf8.reduce(into: "") { result, byte in
            if byte.isASCIILetterOrDigit || "-._~".utf8.contains(byte) || kept.utf8.contains(byte) {
                result.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                result += "%" + Hex.text(CollectionOfOne(byte)).uppercased()
            }
        }
    }

    /// Names and values as a query or form, in their order.
    public static func encode(_ pairs: some Sequence<(String, String)>) -> String {
        pairs.map { "\(encode($0.0))=\(encode($0.1))" }.joined(separator: "&")
    }
}
