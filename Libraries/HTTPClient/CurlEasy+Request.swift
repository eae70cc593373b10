import Ccurl

extension CurlEasy {
    /// Sets all options of a request and of the client's configuration.
    /// - Throws: `HTTPClientError` with `invalidRequest`.
    func apply(
        _ request: HTTPClient.Request, _ configuration: HTTPClient.Configuration
    ) throws(HTTPClientError) {
        try set(CURLOPT_PROTOCOLS_STR, "http,https")
        try set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https")
        try set(CURLOPT_URL, request.url)
        try set(CURLOPT_TIMEOUT_MS, request.timeout ?? configuration.timeout)
        try set(CURLOPT_CONNECTTIMEOUT_MS, configuration.connectTimeout)
        try set(CURLOPT_TCP_KEEPALIVE, 1)
        try set(CURLOPT_USERAGENT, configuration.userAgent)
        try set(CURLOPT_PROXY, configuration.proxy ?? "")
        if let file = configuration.certificateAuthorityFile { try trust(onlyFile: file) }
        if request.maximumRedirects > 0 {
            try set(CURLOPT_FOLLOWLOCATION, 1)
            try set(CURLOPT_MAXREDIRS, request.maximumRedirects)
        }
        if let credentials = request.digestAuthentication {
            guard hasNoControlCharacter(credentials.username), hasNoControlCharacter(credentials.password) else {
                throw HTTPClientError(.invalidRequest, "a control character in the user's name or password")
            }
            try set(CURLOPT_HTTPAUTH, 1 << 1)  // CURLAUTH_DIGEST, a macro with a cast, which Swift doesn't import
            try set(CURLOPT_USERNAME, credentials.username)
            try set(CURLOPT_PASSWORD, credentials.password)
        }
        try setMethod(request)
        // libcurl sends a request again when the server closes a connection that was used before without an answer, also if it has carried
        // the request out. What mustn't happen twice (RFC 9110, 9.2.2) gets a connection of its own.
        if ["POST", "PATCH"].contains(request.method) { try set(CURLOPT_FRESH_CONNECT, 1) }
        var lines: [String] = []
        for header in request.headers { lines.append(try headerLine(header)) }
        // Suppresses libcurl's defaults: it would wait for a "100 Continue", and declare any body a form.
        for name in ["Expect", "Content-Type"] where !request.headers.contains(where: { $0.name.isEqual(name) }) {
            lines.append("\(name):")
        }
        try set(CURLOPT_HTTPHEADER, lines)
    }

    private func setMethod(_ request: HTTPClient.Request) throws(HTTPClientError) {
        guard isToken(request.method) else { throw HTTPClientError(.invalidRequest, "a malformed method") }
        // Servers require a length with these methods, even for an empty body.
        let isEmpty = request.body == nil && ["POST", "PUT", "PATCH"].contains(request.method)
        if let body = isEmpty ? [] : request.body {
            let kept = keep(body)
            try set(CURLOPT_POST, 1)
            try set(CURLOPT_POSTFIELDSIZE_LARGE, size: body.count)
            // libcurl reads the pointer until the handle is freed; for an empty body it must not be null.
            ccurl_easy_pointer(handle, CURLOPT_POSTFIELDS, kept.baseAddress ?? handle)
            if request.method != "POST" { try set(CURLOPT_CUSTOMREQUEST, request.method) }
        } else if request.method == "HEAD" {
            try set(CURLOPT_NOBODY, 1)
        } else if request.method != "GET" {
            try set(CURLOPT_CUSTOMREQUEST, request.method)
        }
    }

    private func headerLine(_ header: HTTPClient.Header) throws(HTTPClientError) -> String {
        guard isToken(header.name) else { throw HTTPClientError(.invalidRequest, "a malformed header name") }
        guard hasNoControlCharacter(header.value) else {
            throw HTTPClientError(.invalidRequest, "a control character in the header \(header.name)")
        }
        // For libcurl, "Name:" means not to send the header, and "Name;" an empty value.
        return header.value.isEmpty ? "\(header.name);" : "\(header.name): \(header.value)"
    }

    /// Whether the text can stand in a header (RFC 9110, 5.5).
    private func hasNoControlCharacter(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 }
    }

    /// Whether the text is a token (RFC 9110, 5.6.2).
    private func isToken(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }
}

extension String {
    /// Compares case-insensitively.
    fileprivate func isEqual(_ other: String) -> Bool { lowercased() == other.lowercased() }
}
