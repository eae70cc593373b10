import Cmicrohttpd
import Glibc
import WebSocket

extension HTTPListener {
    /// The header fields that libmicrohttpd writes itself.
    private static let ownFields: Set = ["content-length", "transfer-encoding", "date", "keep-alive", "connection"]

    /// Passes a response to libmicrohttpd. Must be called only from its callbacks.
    func send(_ response: HTTPResponse, _ exchange: HTTPExchange) -> MHD_Result {
        guard let connection = exchange.connection else { return .NO }
        exchange.phase = .sent
        if let upgrade = response.upgrade { return accept(upgrade, response.headers, exchange) }
        let sent = affordable(response, exchange)
        guard let answer = content(of: sent, exchange) else { return .NO }
        defer { MHD_destroy_response(answer) }
        add(sent.headers, to: answer)
        if isDraining || sent.headers.contains("connection", "close") {
            MHD_add_response_header(answer, "Connection", "close")
        }
        return MHD_queue_response(connection, UInt32(sent.status), answer)
    }

    /// Writes a small response to the socket of a connection that libmicrohttpd is about to close.
    func sendDirectly(_ response: HTTPResponse, on descriptor: Int32) {
        guard case .bytes(let body) = response.body else { return }
        let reason = MHD_get_reason_phrase_for(UInt32(response.status)).map { String(cString: $0) } ?? ""
        var head = "HTTP/1.1 \(response.status) \(reason)\r\n"
        for (name, value) in response.headers { head += "\(name): \(value)\r\n" }
        head += "Content-Length: \(body.count)\r\n\r\n"
        // The socket is non-blocking. The response fits into its buffer, in which there is at most a "100 Continue"; if not, the client sees
        // the connection's end.
        let bytes = Array(head.utf8) + body
        _ = bytes.withUnsafeBytes {
            Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
    }

    private func content(of response: HTTPResponse, _ exchange: HTTPExchange) -> OpaquePointer? {
        switch response.body {
        case .bytes(let bytes):
            exchange.progress = AnswerProgress(now: loop.now)
            if bytes.count > BufferedAnswer.leastBytes { return BufferedAnswer.response(bytes, exchange) }
            return bytes.withUnsafeBytes {
                MHD_create_response_from_buffer(
                    $0.count, UnsafeMutableRawPointer(mutating: $0.baseAddress),
                    $0.isEmpty ? .RESPMEM_PERSISTENT : .RESPMEM_MUST_COPY)
            }
        case .stream(let body):
            let stream = ResponseStream(exchange, body.produce)
            exchange.stream = stream
            let reader = StreamReader(self, stream)
            let answer = MHD_create_response_from_callback(
                body.length ?? UInt64.max, 16 << 10, StreamReader.readCallback,
                Unmanaged.passRetained(reader).toOpaque(),
                { reader in if let reader { Unmanaged<StreamReader>.fromOpaque(reader).release() } })
            return answer
        }
    }

    private func add(_ headers: HTTPHeaders, to answer: OpaquePointer) {
        for (name, value) in headers where !Self.ownFields.contains(name.lowercased()) {
            if MHD_add_response_header(answer, name, value) != .YES {
                logger.error("response header left out", metadata: ["http.header": "\(name)"])
            }
        }
    }

    // MARK: Upgrades

    private func accept(_ upgrade: WebSocketUpgrade, _ headers: HTTPHeaders, _ exchange: HTTPExchange) -> MHD_Result {
        guard let connection = exchange.connection, let request = exchange.request else { return .NO }
        if let refusal = refusal(of: request, upgrade) { return send(refusal, exchange) }
        let isCompressed =
            upgrade.settings.allowsCompression
            && CompressionAgreement.isOffered(in: request.headers["sec-websocket-extensions"] ?? "")
        let handover = UpgradeHandover(self, upgrade, isCompressed)
        let answer = MHD_create_response_for_upgrade(
            { context, _, _, early, count, socket, handle in
                guard let context, let handle else { return }
                let bytes = count > 0 ? Array(UnsafeRawBufferPointer(start: early, count: count)) : []
                let handover = Unmanaged<UpgradeHandover>.fromOpaque(context).takeRetainedValue()
                // With a duplicated descriptor, libmicrohttpd can free all its memory of the connection, 21 of 29 KiB; it closes
                // its own descriptor without shutdown(). Checked with 0.9.75, without TLS.
                let own = fcntl(socket, F_DUPFD_CLOEXEC, 0)
                cmhd_upgrade_close(handle)
                if own >= 0 { handover.complete(own, bytes) }
            }, Unmanaged.passRetained(handover).toOpaque())
        guard let answer else {
            Unmanaged.passUnretained(handover).release()
            return .NO
        }
        defer { MHD_destroy_response(answer) }
        MHD_add_response_header(answer, "Upgrade", "websocket")
        MHD_add_response_header(
            answer, "Sec-WebSocket-Accept", WebSocketHandshake.accept(for: request.headers["sec-websocket-key"] ?? ""))
        if let subprotocol = upgrade.subprotocol {
            MHD_add_response_header(answer, "Sec-WebSocket-Protocol", subprotocol)
        }
        if isCompressed { MHD_add_response_header(answer, "Sec-WebSocket-Extensions", CompressionAgreement.answer) }
        add(headers, to: answer)
        // The 101 is sent in this run, but the upgrade itself happens in the next one, which nothing else would cause.
        runSoon()
        return MHD_queue_response(connection, 101, answer)
    }

    private func refusal(of request: HTTPRequest, _ upgrade: WebSocketUpgrade) -> HTTPResponse? {
        guard request.method == .get, request.isWebSocketUpgrade else {
            return HTTPError.badRequest("not a WebSocket handshake").response
        }
        guard request.headers["sec-websocket-version"] == "13" else {
            return HTTPError(
                426, code: "UpgradeRequired", "WebSocket version 13 is needed", headers: ["Sec-WebSocket-Version": "13"]
            ).response
        }
        guard let key = request.headers["sec-websocket-key"], WebSocketHandshake.isValidKey(key) else {
            return HTTPError.badRequest("malformed Sec-WebSocket-Key").response
        }
        if let subprotocol = upgrade.subprotocol, !request.webSocketSubprotocols.contains(subprotocol) {
            logger.error(
                "handler chose a subprotocol that wasn't offered", metadata: ["http.route": "\(request.route ?? "")"])
            return HTTPError.internalError.response
        }
        guard hasRoomForWebSocket else {
            return HTTPError(503, code: "ServiceUnavailable", "too many WebSockets").response
        }
        return nil
    }
}

/// The reader of a streamed response, which libmicrohttpd keeps until it destroys the response.
private final class StreamReader {
    private let listener: HTTPListener
    private let stream: ResponseStream

    init(_ listener: HTTPListener, _ stream: ResponseStream) {
        self.listener = listener
        self.stream = stream
    }

    static let readCallback: MHD_ContentReaderCallback = { me, _, buffer, capacity in
        // -1 and -2 are libmicrohttpd's values for the end of the stream and an error, which Swift doesn't import because they are
        // casts.
        guard let me, let buffer else { return -2 }
        let target = UnsafeMutableRawBufferPointer(start: buffer, count: capacity)
        switch Unmanaged<StreamReader>.fromOpaque(me).takeUnretainedValue().read(into: target) {
        case .bytes(let count): return count
        case .nothingYet: return 0
        case .complete: return -1
        case .failed: return -2
        }
    }

    private func read(into buffer: UnsafeMutableRawBufferPointer) -> ResponseStream.Read {
        stream.startIfNeeded(listener)
        let result = stream.read(into: buffer)
        if result == .nothingYet { stream.exchange.suspend() }
        return result
    }
}

/// Keeps an accepted upgrade from the handler's response until the 101 is sent.
private final class UpgradeHandover {
    private let listener: HTTPListener
    private let upgrade: WebSocketUpgrade
    private let isCompressed: Bool

    init(_ listener: HTTPListener, _ upgrade: WebSocketUpgrade, _ isCompressed: Bool) {
        self.listener = listener
        self.upgrade = upgrade
        self.isCompressed = isCompressed
    }

    func complete(_ descriptor: Int32, _ early: [UInt8]) {
        listener.assumeIsolated { [upgrade, isCompressed] listener in
            do {
                try WebSocket.accept(
                    on: listener.loop, descriptor: descriptor, early: early, configuration: upgrade.settings,
                    subprotocol: upgrade.subprotocol, isCompressed: isCompressed
                ) { socket in
                    listener.opened(socket)
                    upgrade.open(socket)
                }
            } catch {
                listener.logger.warning("upgraded connection lost", metadata: ["error": "\(error)"])
            }
        }
    }
}
