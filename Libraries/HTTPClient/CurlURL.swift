import Ccurl

/// Parses URLs with libcurl's own parser, because another parser may find a different host than the one that libcurl connects to.
enum CurlURL {
    /// The host, without brackets; empty when there is none.
    static func host(_ url: UnsafePointer<CChar>?) -> String {
        guard let url, let parts = curl_url() else { return "" }
        defer { curl_url_cleanup(parts) }
        var host: UnsafeMutablePointer<CChar>?
        guard curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK,
            curl_url_get(parts, CURLUPART_HOST, &host, 0) == CURLUE_OK, let host
        else { return "" }
        defer { curl_free(host) }
        let text = String(cString: host)
        return text.hasPrefix("[") ? String(text.dropFirst().dropLast()) : text
    }
}
