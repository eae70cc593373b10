import Ccurl

extension HTTPClientError {
    /// Makes an error from libcurl's result.
    /// - Parameter detail: The contents of libcurl's error buffer, possibly empty.
    init(_ result: CURLcode, detail: String) {
        let text = detail.isEmpty ? String(cString: curl_easy_strerror(result)) : detail
        self.init(Self.code(for: result), text, curlCode: Int(result.rawValue))
    }

    private static func code(for result: CURLcode) -> Code {
        switch result {
        case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL, CURLE_BAD_FUNCTION_ARGUMENT: .invalidRequest
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .resolve
        case CURLE_COULDNT_CONNECT, CURLE_PROXY, CURLE_INTERFACE_FAILED: .connect
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CLIENTCERT,
            CURLE_SSL_ENGINE_INITFAILED, CURLE_USE_SSL_FAILED:
            .tls
        case CURLE_OPERATION_TIMEDOUT: .timeout
        case CURLE_FILESIZE_EXCEEDED: .tooLarge
        case CURLE_TOO_MANY_REDIRECTS: .tooManyRedirects
        case CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_PARTIAL_FILE, CURLE_SEND_FAIL_REWIND,
            CURLE_HTTP2_STREAM:
            .connectionLost
        case CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING, CURLE_HTTP2: .protocolError
        case CURLE_LOGIN_DENIED, CURLE_AUTH_ERROR: .authentication
        default: .failed
        }
    }
}
