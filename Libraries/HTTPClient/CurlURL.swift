import Ccurl

/// URLs as libcurl takes them apart: what another parser finds in them isn't where libcurl goes.
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
