import Ccurl

/// The transfer of one mail.
///
/// `@unchecked Sendable`: used only on its loop.
final class SMTPTransfer: CurlTransfer, @unchecked Sendable {
    let easy: CurlEasy
    private let message: UnsafeMutableRawBufferPointer
    private var sent = 0
    private var result: Result<Void, any Error>?
    private var waiting: UnsafeContinuation<Void, any Error>?

    /// - Throws: `HTTPClientError` with `invalidRequest`.
    init(
        _ message: [UInt8], from: String, to: [String], _ configuration: SMTPClient.Configuration
    ) throws(HTTPClientError) {
        try MailAddress.check(from)
        guard !to.isEmpty else { throw HTTPClientError(.invalidRequest, "a mail without recipient") }
        for address in to { try MailAddress.check(address) }
        easy = try CurlEasy()
        self.message = easy.keep(MailMessage.withLineEnds(message))

        let scheme = configuration.security == .tls ? "smtps" : "smtp"
        try easy.set(CURLOPT_PROTOCOLS_STR, scheme)
        let host = configuration.host.contains(":") ? "[\(configuration.host)]" : configuration.host
        try easy.set(CURLOPT_URL, "\(scheme)://\(host):\(configuration.port)")
        try easy.set(CURLOPT_PROXY, "")
        try easy.set(CURLOPT_TIMEOUT_MS, configuration.timeout)
        if configuration.security == .startTLS { try easy.set(CURLOPT_USE_SSL, Int(CURLUSESSL_ALL.rawValue)) }
        if let user = configuration.user {
            try easy.set(CURLOPT_USERNAME, user)
            try easy.set(CURLOPT_PASSWORD, configuration.password ?? "")
        }
        if let file = configuration.certificateAuthorityFile { try easy.trust(onlyFile: file) }
        try easy.set(CURLOPT_MAIL_FROM, "<\(from)>")
        try easy.set(CURLOPT_MAIL_RCPT, to.map { "<\($0)>" })
        try easy.set(CURLOPT_UPLOAD, 1)
        try easy.set(CURLOPT_INFILESIZE_LARGE, size: self.message.count)
        // Not retained: the multi handle retains the transfer as long as libcurl may call it.
        ccurl_easy_pointer(easy.handle, CURLOPT_READDATA, Unmanaged.passUnretained(self).toOpaque())
        ccurl_easy_data(easy.handle, CURLOPT_READFUNCTION) { buffer, size, count, context in
            guard let buffer, let context else { return Int(CURL_READFUNC_ABORT) }
            let room = UnsafeMutableRawBufferPointer(start: buffer, count: size * count)
            return Unmanaged<SMTPTransfer>.fromOpaque(context).takeUnretainedValue().read(into: room)
        }
        // The server's output after the mail isn't needed, and would go to standard output by default.
        ccurl_easy_data(easy.handle, CURLOPT_WRITEFUNCTION) { _, size, count, _ in size * count }
    }

    private func read(into room: UnsafeMutableRawBufferPointer) -> Int {
        let part = message[sent...].prefix(room.count)
        room.copyBytes(from: part)
        sent += part.count
        return part.count
    }

    func ended(_ result: CURLcode?) {
        switch result {
        case nil: end(.failure(HTTPClientError.shutDown))
        case CURLE_OK?: end(.success(()))
        case let result?: end(.failure(error(result)))
        }
    }

    private func error(_ result: CURLcode) -> HTTPClientError {
        let error = HTTPClientError(result, detail: easy.detail)
        // The server's answer to the sender, a recipient or the mail itself.
        let answer = ccurl_easy_info_long(easy.handle, CURLINFO_RESPONSE_CODE)
        guard answer >= 400, ![.authentication, .timeout, .tls].contains(error.code) else { return error }
        let code: HTTPClientError.Code =
            switch answer {
            // Nothing is wrong with the mail: the server wants a login, another one, or TLS before it (RFC 4954 §6, RFC 3207 §4).
            case 530, 534, 535, 538: .authentication
            case 500...: .rejected
            default: .deferred
            }
        return HTTPClientError(code, "\(error.message) (answer \(answer))", curlCode: error.curlCode)
    }

    func end(_ result: Result<Void, any Error>) {
        guard self.result == nil else { return }
        self.result = result
        waiting?.resume(with: result)
        waiting = nil
    }

    func wait(isolation: isolated (any Actor)) async throws {
        try await withUnsafeThrowingContinuation { (continuation: UnsafeContinuation<Void, any Error>) in
            if let result { continuation.resume(with: result) } else { waiting = continuation }
        }
    }
}
