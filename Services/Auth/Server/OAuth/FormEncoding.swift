import DocumentModel

/// Names and values in queries and forms.
enum FormEncoding {
    static func encode(_ pairs: [(name: String, value: String)]) -> String {
        PercentEncoding.encode(pairs.lazy.map { ($0.name, $0.value) })
    }

    /// A URL with further parameters in its query.
    static func url(_ url: String, adding pairs: [(name: String, value: String)]) -> String {
        url + (url.contains("?") ? "&" : "?") + encode(pairs)
    }
}
