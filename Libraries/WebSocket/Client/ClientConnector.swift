import EventLoop
import Glibc
import TLS

/// One connection attempt of a client: it tries the addresses in order, starts TLS if requested, sends the request, reads the head
/// of the response and passes the descriptor to a WebSocket. The next address is tried only until the request is sent.
///
/// `@unchecked Sendable`: after `init` it is used only on its loop.
final class ClientConnector: @unchecked Sendable {
    private let loop: EventLoop
    private let request: UpgradeRequest
    private let settings: SessionSettings
    private let open: @Sendable (WebSocket) -> Void
    private var addresses: [SocketAddress]
    private let trust: TLSContext?
    private var tls: TLSChannel?
    private var continuation: CheckedContinuation<WebSocket, any Error>?
    private var descriptor: Int32 = -1
    private var watcher: FDWatcher?
    private var timer: LoopTimer?
    private var timeout: UInt64 = 0
    /// When the attempt is given up, by the loop's clock.
    private var end: UInt64 = 0
    private var isConnected = false
    private var isSecured = false
    private var failure: WebSocketError?
    /// Why TLS failed at an earlier address: it says more than that the last one doesn't answer.
    private var tlsFailure: WebSocketError?
    private var outgoing: [UInt8] = []
    private var incoming: [UInt8] = []

    init(
        _ loop: EventLoop, request: UpgradeRequest, addresses: [SocketAddress], trust: TLSContext?,
        settings: SessionSettings, open: @escaping @Sendable (WebSocket) -> Void
    ) {
        self.loop = loop
        self.request = request
        self.addresses = addresses
        self.trust = trust
        self.settings = settings
        self.open = open
    }

    func start(timeout: UInt64, _ continuation: CheckedContinuation<WebSocket, any Error>) {
        // It was cancelled before it started.
        if let failure { return continuation.resume(throwing: failure) }
        self.continuation = continuation
        self.timeout = timeout
        end = loop.now &+ timeout
        timer = LoopTimer(loop) { [self] in timeIsOver() }
        connectNext(WebSocketError(.unresolvedHost, "no address"))
    }

    /// The milliseconds that are left.
    private var left: UInt64 { end > loop.now ? end - loop.now : 0 }

    /// The least and the greatest part of the time that an address gets for connecting and TLS while there are others; the last one gets the
    /// rest. Two seconds allow for one lost packet.
    private static let part: ClosedRange<UInt64> = 250...2000

    private func startTimer() {
        let share = left / UInt64(max(addresses.count, 1))
        let part = max(Self.part.lowerBound, min(share, Self.part.upperBound))
        timer?.start(ms: addresses.count > 1 ? min(left, part) : left)
    }

    private func timeIsOver() {
        let error = WebSocketError(.timedOut, "no answer in \(timeout) ms")
        // With the request sent, the server is there, and it is asked only once.
        if isSecured { return fail(error) }
        if left == 0 { fail(tlsFailure ?? error) } else { connectNext(error) }
    }

    /// Ends the attempt with an error; only the first outcome has an effect.
    func fail(_ error: WebSocketError) {
        if failure == nil { failure = error }
        guard let continuation else { return }
        self.continuation = nil
        dropConnection()
        timer?.close()
        timer = nil
        continuation.resume(throwing: error)
    }

    private func dropConnection() {
        watcher?.close()
        watcher = nil
        if descriptor >= 0 { Glibc.close(descriptor) }
        descriptor = -1
    }

    private func connectNext(_ lastError: WebSocketError) {
        dropConnection()
        tls = nil
        isConnected = false
        guard !addresses.isEmpty else { return fail(tlsFailure ?? lastError) }
        startTimer()
        let address = addresses.removeFirst()
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        descriptor = socket(address.family, type, Int32(IPPROTO_TCP))
        guard descriptor >= 0 else {
            // Maybe the system has no addresses of this family.
            return connectNext(WebSocketError(.outOfResources, String(cString: strerror(errno))))
        }
        let status = address.bytes.withUnsafeBytes { bytes in
            guard let base = bytes.assumingMemoryBound(to: sockaddr.self).baseAddress else { return Int32(-1) }
            return connect(descriptor, base, socklen_t(bytes.count))
        }
        guard status == 0 || errno == EINPROGRESS else { return connectNext(Self.cannotConnect(errno)) }
        do {
            watcher = try FDWatcher(loop, fd: descriptor) { [self] in ready($0) }
            watcher?.set(.write)
        } catch {
            fail(WebSocketError(.outOfResources, "\(error)"))
        }
    }

    private static func cannotConnect(_ code: Int32) -> WebSocketError {
        WebSocketError(.cannotConnect, String(cString: strerror(code)))
    }

    private func ready(_ interest: FDWatcher.Interest) {
        if !isConnected {
            var code: Int32 = 0
            var size = socklen_t(MemoryLayout<Int32>.size)
            getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size)
            guard code == 0 else { return connectNext(Self.cannotConnect(code)) }
            isConnected = true
        }
        do throws(TLSError) {
            guard try isReadyToTalk() else { return }
        } catch {
            let failure = WebSocketError(error)
            tlsFailure = tlsFailure ?? failure
            return connectNext(failure)
        }
        if !outgoing.isEmpty || tls?.hasUnsent == true { write() } else if interest.contains(.read) { read() }
    }

    /// Whether the request can be sent: immediately, or after the TLS handshake.
    private func isReadyToTalk() throws(TLSError) -> Bool {
        if isSecured { return true }
        if let trust {
            let channel: TLSChannel
            if let tls {
                channel = tls
            } else {
                // A proxy that supports HTTP/2 as well would choose it otherwise.
                channel = try TLSChannel(trust, host: request.url.host, protocols: ["http/1.1"])
            }
            tls = channel
            guard try channel.handshake(over: descriptor) else {
                watcher?.set(channel.hasUnsent ? [.read, .write] : .read)
                return false
            }
        }
        isSecured = true
        timer?.start(ms: left)
        outgoing = request.bytes
        return true
    }

    private func write() {
        let count = send()
        if count >= 0 {
            outgoing.removeFirst(count)
            watcher?.set(outgoing.isEmpty && tls?.hasUnsent != true ? .read : .write)
        } else if errno != EAGAIN, errno != EINTR {
            fail(Self.cannotConnect(errno))
        }
    }

    private func send() -> Int {
        guard let tls else { return Glibc.send(descriptor, outgoing, outgoing.count, Int32(MSG_NOSIGNAL)) }
        if outgoing.isEmpty { return tls.flush(to: descriptor) ? 0 : -1 }
        return outgoing.withUnsafeMutableBytes { bytes in
            withUnsafeTemporaryAllocation(of: iovec.self, capacity: 1) { pieces in
                pieces.initializeElement(at: 0, to: iovec(iov_base: bytes.baseAddress, iov_len: bytes.count))
                return tls.send(pieces, to: descriptor)
            }
        }
    }

    private func read() {
        var hasEnded = false
        withUnsafeTemporaryAllocation(byteCount: 64 << 10, alignment: 8) { buffer in
            let count =
                tls?.receive(from: descriptor, into: buffer) ?? recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count > 0 { incoming.append(contentsOf: buffer[..<count]) }
            hasEnded = count == 0 || count < 0 && errno != EAGAIN && errno != EINTR
        }
        do throws(WebSocketError) {
            try examine(hasEnded: hasEnded)
        } catch {
            fail(error)
        }
    }

    private func examine(hasEnded: Bool) throws(WebSocketError) {
        guard let length = UpgradeAnswer.headLength(incoming) else {
            if hasEnded { throw WebSocketError(.cannotConnect, "the connection was lost before the answer") }
            if incoming.count > UpgradeAnswer.maxHeadBytes {
                throw WebSocketError(.invalidHandshake, "the answer's head is too long")
            }
            return
        }
        let answer = try UpgradeAnswer(head: incoming[..<length])
        guard answer.status == 101 else { return try refused(answer, body: incoming[length...], hasEnded) }
        try finish(answer.agreement(with: request), early: Array(incoming[length...]))
    }

    /// Waits for the body if its length is known, so that the caller gets the reason.
    private func refused(_ answer: UpgradeAnswer, body: ArraySlice<UInt8>, _ hasEnded: Bool) throws(WebSocketError) {
        let length = answer.value("content-length").flatMap { Int($0) }
        let wanted = min(length ?? UpgradeAnswer.maxHeadBytes, UpgradeAnswer.maxHeadBytes)
        if body.count < wanted, !hasEnded, length != nil { return }
        throw WebSocketError(
            .refused, "the server answered with status \(answer.status)", status: answer.status,
            body: Array(body.prefix(wanted)))
    }

    private func finish(_ agreement: UpgradeAnswer.Agreement, early: [UInt8]) throws(WebSocketError) {
        guard let continuation else { return }
        watcher?.close()
        watcher = nil
        timer?.close()
        timer = nil
        let own = descriptor
        descriptor = -1
        do {
            let socket = try WebSocket.adopt(
                on: loop, descriptor: own, tls: tls, early: early, role: .client, settings: settings,
                subprotocol: agreement.subprotocol,
                isCompressed: agreement.isCompressed, open: open)
            self.continuation = nil
            continuation.resume(returning: socket)
        } catch {
            throw WebSocketError(.outOfResources, "\(error)")
        }
    }
}
