/// The cookies that the services set for themselves. Apps' functions answer at the same host, and must not set them.
public enum SystemCookie {
    /// How their names begin.
    public static let prefix = "partita-"

    /// Whether the value of a `Set-Cookie` field sets such a cookie. Browsers remove spaces around the name (RFC 6265, section 5.2).
    public static func isMeant(by field: String) -> Bool {
        field.utf8.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }.starts(with: prefix.utf8)
    }
}
