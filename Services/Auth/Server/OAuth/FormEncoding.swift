import Foundation

/// Names and values in queries and forms.
enum FormEncoding {
    /// The unreserved characters of URLs (RFC 3986 §2.3).
    private static let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")

    static func encode(_ text: String) -> String {
        // It is nil only for texts that aren't UTF-16, which a Swift string always is.
        text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
    }

    static func encode(_ pairs: [(name: String, value: String)]) -> String {
        pairs.map { encode($0.name) + "=" + encode($0.value) }.joined(separator: "&")
    }

    /// A URL with further parameters in its query.
    static func url(_ url: String, adding pairs: [(name: String, value: String)]) -> String {
        url + (url.contains("?") ? "&" : "?") + encode(pairs)
    }
}
