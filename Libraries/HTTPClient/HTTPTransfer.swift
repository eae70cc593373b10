import Ccurl
import EventLoop
import Glibc

/// One exchange: the request in libcurl's form, and the response while it is received.
///
/// `@unchecked Sendable`: used only on its loop.
final class HTTPTransfer: CurlTransfer, @unchecked Sendable {
    /// The number of bytes that may wait for a reader before the connection is paused.
    static let window = 256 << 10

    let easy: CurlEasy
    private let maximumBytes: Int
    /// Whether the caller reads the body while it is received; otherwise it is collected.
    private let isStreaming: Bool
    /// What the collected body is charged to.
    private let memory: InflightShare?
    private var head = HTTPResponseHead()
    private var buffer: [UInt8] = []
    private var received = 0
    private var isPaused = false
    /// Why a callback of this object aborted the exchange; libcurl's own result says only that one did.
    private var failure: HTTPClientError?
    private let egress: EgressPolicy
    /// Whether the policy refused the last address.
    private var isRefused = false
    private var result: Result<Void, any Error>?
    /// The reader that waits for bytes or the end.
    private var reader: UnsafeContinuation<[UInt8]?, any Error>?

    /// - Throws: `HTTPClientError` with `invalidRequest`.
    init(
        _ request: HTTPClient.Request, _ configuration: HTTPClient.Configuration, isStreaming: Bool
    ) throws(HTTPClientError) {
        maximumBytes = request.maximumResponseBytes ?? configuration.maximumResponseBytes
        self.isStreaming = isStreaming
        memory = isStreaming ? nil : InflightShare.current
        egress = configuration.egress
        easy = try CurlEasy()
        try easy.apply(request, configuration)
        try easy.set(CURLOPT_MAXFILESIZE_LARGE, size: max(1, maximumBytes))
        // Not retained: the multi handle retains the transfer as long as libcurl may call it.
        let context = Unmanaged.passUnretained(self).toOpaque()
        ccurl_easy_open(
            easy.handle,
            { context, _, address in
                guard let context, let address else { return CURL_SOCKET_BAD }
                return Unmanaged<HTTPTransfer>.fromOpaque(context).takeUnretainedValue().open(address)
            }, context)
        ccurl_easy_pointer(easy.handle, CURLOPT_HEADERDATA, context)
        ccurl_easy_data(easy.handle, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
            guard let bytes, let context else { return 0 }
            let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
            return Unmanaged<HTTPTransfer>.fromOpaque(context).takeUnretainedValue().receiveHeader(line)
        }
        ccurl_easy_pointer(easy.handle, CURLOPT_WRITEDATA, context)
        ccurl_easy_data(easy.handle, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
            guard let bytes, let context else { return 0 }
            let part = UnsafeRawBufferPointer(start: bytes, count: size * count)
            return Unmanaged<HTTPTransfer>.fromOpaque(context).takeUnretainedValue().receive(part)
        }
    }

    // MARK: libcurl's side

    /// Opens the socket for a connection to an address. It is called for each address, since a host may have several and redirects
    /// lead to other hosts.
    private func open(_ target: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
        let place = UnsafeRawPointer(target) + (MemoryLayout<curl_sockaddr>.offset(of: \.addr) ?? 0)
        let bytes = UnsafeRawBufferPointer(start: place, count: Int(target.pointee.addrlen))
        isRefused = !permits(bytes)
        guard !isRefused else { return CURL_SOCKET_BAD }
        return socket(
            target.pointee.family, target.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue), target.pointee.protocol)
    }

    private func permits(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let (address, port) = IPAddress.of(bytes) else { return false }
        return egress.permits(
            address, port: port, host: CurlURL.host(ccurl_easy_info_text(easy.handle, CURLINFO_EFFECTIVE_URL)))
    }

    private func receiveHeader(_ line: UnsafeRawBufferPointer) -> Int {
        if head.append(line) { return line.count }
        failure = HTTPClientError(.tooLarge, "the response's header is larger than \(HTTPResponseHead.limit) bytes")
        return 0
    }

    private func receive(_ part: UnsafeRawBufferPointer) -> Int {
        if isStreaming, buffer.count >= Self.window {
            isPaused = true
            return Int(CURL_WRITEFUNC_PAUSE)  // libcurl passes the part again later
        }
        received += part.count
        guard received <= maximumBytes else {
            failure = HTTPClientError(.tooLarge, "the response's body is larger than \(maximumBytes) bytes")
            return 0
        }
        if memory?.take(part.count) != nil {
            failure = HTTPClientError(
                .overloaded, "no memory is left for the response's body, since too many others are under way")
            return 0
        }
        buffer.append(contentsOf: part)
        if isStreaming { wakeReader() }
        return part.count
    }

    func ended(_ result: CURLcode?) {
        switch result {
        case nil: end(.failure(HTTPClientError.shutDown))
        case CURLE_OK?: end(.success(()))
        case CURLE_COULDNT_CONNECT? where isRefused: end(.failure(HTTPClientError.egressRefused))
        case let result?: end(.failure(failure ?? HTTPClientError(result, detail: easy.detail)))
        }
    }

    func end(_ result: Result<Void, any Error>) {
        guard self.result == nil else { return }
        self.result = result
        wakeReader()
    }

    // MARK: The reader's side

    /// The response as received so far.
    func response(body: [UInt8] = []) -> HTTPClient.Response {
        HTTPClient.Response(
            status: ccurl_easy_info_long(easy.handle, CURLINFO_RESPONSE_CODE), headers: head.headers, body: body,
            redirect: ccurl_easy_info_text(easy.handle, CURLINFO_REDIRECT_URL).map { String(cString: $0) })
    }

    /// The next bytes of the body, or all of it when it isn't streamed; `nil` at the end.
    func next(isolation: isolated (any Actor)) async throws -> [UInt8]? {
        try await withUnsafeThrowingContinuation { continuation in
            reader = continuation
            wakeReader()
        }
    }

    private func wakeReader() {
        guard let reader else { return }
        if case .failure(let error) = result {
            self.reader = nil
            reader.resume(throwing: error)
        } else if !buffer.isEmpty, isStreaming || result != nil {
            self.reader = nil
            let bytes = buffer
            buffer.removeAll(keepingCapacity: isStreaming)
            reader.resume(returning: bytes)
            resumeReceiving()
        } else if result != nil {
            self.reader = nil
            reader.resume(returning: nil)
        }
    }

    private func resumeReceiving() {
        guard isPaused, result == nil else { return }
        isPaused = false
        curl_easy_pause(easy.handle, 0)  // CURLPAUSE_CONT
    }
}
