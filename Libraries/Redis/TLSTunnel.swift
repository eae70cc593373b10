import EventLoop
import Glibc
import TLS

/// TLS for a client library that knows of descriptors only: what is written to `end` in clear goes over a socket encrypted, and the
/// other way round. Loop only.
final class TLSTunnel {
    /// The client library's descriptor, which it closes.
    let end: Int32

    private let socket: Int32
    private let near: Int32
    private let channel: TLSChannel
    private let onReady: (RedisError?) -> Void
    private var socketWatcher: FDWatcher?
    private var nearWatcher: FDWatcher?
    private var isReady = false
    private var isClosed = false
    /// In clear, and not yet handed on.
    private var outgoing: [UInt8] = []
    private var incoming: [UInt8] = []
    /// The server says no more.
    private var hasEnded = false

    /// - Parameters:
    ///   - socket: a connected one, which the tunnel closes, unless this throws.
    ///   - host: whom the certificate must name.
    ///   - onReady: called once, when the handshake is over; with an error, `close` must follow.
    init(
        _ loop: EventLoop, over socket: Int32, _ trust: TLSContext, host: String,
        onReady: @escaping (RedisError?) -> Void
    ) throws {
        do {
            channel = try TLSChannel(trust, host: host)
        } catch {
            throw RedisError(.connectionFailed, error.message)
        }
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else {
            throw RedisError(.connectionFailed, String(cString: strerror(errno)))
        }
        (end, near) = (ends[0], ends[1])
        self.socket = socket
        self.onReady = onReady
        do {
            socketWatcher = try FDWatcher(loop, fd: socket) { [unowned self] in socketIsReady($0) }
            nearWatcher = try FDWatcher(loop, fd: near) { [unowned self] in nearIsReady($0) }
        } catch {
            socketWatcher?.close()
            Glibc.close(end)
            Glibc.close(near)
            throw error
        }
        socketWatcher?.set([.read, .write])
    }

    /// Ends it, handshake included.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        socketWatcher?.close()
        nearWatcher?.close()
        Glibc.close(socket)
        Glibc.close(near)
    }

    private func socketIsReady(_ interest: FDWatcher.Interest) {
        // What is called may close this.
        withExtendedLifetime(self) {
            guard isReady else { return goOn() }
            if interest.contains(.write) { sendOutgoing() }
            if interest.contains(.read) { receive() }
            watch()
        }
    }

    private func goOn() {
        do throws(TLSError) {
            guard try channel.handshake(over: socket) else {
                socketWatcher?.set(channel.hasUnsent ? [.read, .write] : .read)
                return
            }
        } catch {
            socketWatcher?.set([])
            return onReady(RedisError(.connectionFailed, error.message))
        }
        isReady = true
        watch()
        onReady(nil)
    }

    private func nearIsReady(_ interest: FDWatcher.Interest) {
        if interest.contains(.write) { deliver() }
        if interest.contains(.read), !isBusy {
            withUnsafeTemporaryAllocation(byteCount: TLSChannel.lot, alignment: 8) { buffer in
                let count = recv(near, buffer.baseAddress, buffer.count, 0)
                // At its end the client library has gone, and closes this too.
                if count > 0 { outgoing.append(contentsOf: buffer[..<count]) }
            }
            sendOutgoing()
        }
        watch()
    }

    /// Whether the socket has still to take what came before.
    private var isBusy: Bool { channel.hasUnsent || !outgoing.isEmpty }

    private func sendOutgoing() {
        guard !outgoing.isEmpty else {
            if !channel.flush(to: socket), errno != EAGAIN { hasEnded = true }
            return
        }
        let count = outgoing.withUnsafeMutableBytes { bytes in
            withUnsafeTemporaryAllocation(of: iovec.self, capacity: 1) { pieces in
                pieces.initializeElement(at: 0, to: iovec(iov_base: bytes.baseAddress, iov_len: bytes.count))
                return channel.send(pieces, to: socket)
            }
        }
        if count >= 0 {
            outgoing.removeFirst(count)
        } else if errno != EAGAIN {
            hasEnded = true
        }
    }

    private func receive() {
        guard incoming.isEmpty else { return }
        withUnsafeTemporaryAllocation(byteCount: 4 * TLSChannel.lot, alignment: 8) { buffer in
            let count = channel.receive(from: socket, into: buffer)
            if count > 0 {
                incoming.append(contentsOf: buffer[..<count])
            } else if count == 0 || errno != EAGAIN && errno != EINTR {
                hasEnded = true
            }
        }
        deliver()
    }

    private func deliver() {
        while !incoming.isEmpty {
            let count = send(near, incoming, incoming.count, Int32(MSG_NOSIGNAL))
            guard count > 0 else { return }
            incoming.removeFirst(count)
        }
    }

    /// Each side is read while the other one takes what came; the client library learns of the end after all that came before.
    private func watch() {
        guard !isClosed else { return }
        if hasEnded, incoming.isEmpty { shutdown(near, Int32(SHUT_RDWR)) }
        var socketInterest: FDWatcher.Interest = incoming.isEmpty && !hasEnded ? .read : []
        if isBusy && !hasEnded { socketInterest.insert(.write) }
        var nearInterest: FDWatcher.Interest = isBusy || hasEnded ? [] : .read
        if !incoming.isEmpty { nearInterest.insert(.write) }
        socketWatcher?.set(socketInterest)
        nearWatcher?.set(nearInterest)
    }
}
