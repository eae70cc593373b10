import Ccurl

extension HTTPClient {
    /// The parts of a URL as the client understands it, by libcurl's own parser: another parser may find another host.
    public struct URLParts: Sendable {
        public let scheme: String
        /// The host, with the port if the URL has one.
        public let host: String
        public let path: String
        /// As in the URL, without the question mark; empty when there is none.
        public let query: String
        /// As in the URL, without the number sign; empty when there is none.
        public let fragment: String
        /// The name and password that the URL has before its host, decoded; `nil` when it has none.
        public let credentials: Credentials?

        /// - Returns: `nil` when the URL isn't an absolute one that the client would request.
        public init?(_ url: String) {
            guard let parts = curl_url() else { return nil }
            defer { curl_url_cleanup(parts) }
            guard !url.utf8.contains(0), curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK else { return nil }
            func text(_ part: CURLUPart, flags: UInt32 = 0) -> String? {
                var text: UnsafeMutablePointer<CChar>?
                guard curl_url_get(parts, part, &text, flags) == CURLUE_OK, let text else { return nil }
                defer { curl_free(text) }
                return String(cString: text)
            }
            guard let scheme = text(CURLUPART_SCHEME), ["http", "https"].contains(scheme),
                let host = text(CURLUPART_HOST)
            else { return nil }
            self.scheme = scheme
            self.host = host + (text(CURLUPART_PORT).map { ":\($0)" } ?? "")
            path = text(CURLUPART_PATH) ?? "/"
            query = text(CURLUPART_QUERY) ?? ""
            fragment = text(CURLUPART_FRAGMENT) ?? ""
            credentials = text(CURLUPART_USER, flags: UInt32(CURLU_URLDECODE)).map {
                Credentials(username: $0, password: text(CURLUPART_PASSWORD, flags: UInt32(CURLU_URLDECODE)) ?? "")
            }
        }
    }
}
