import EventLoop
import Glibc
import TLS

/// TLS for a client library that supports only descriptors: plain text that is written to `end` is sent encrypted over a socket,
/// and vice versa. Used only on the loop.
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
    /// Plain text that isn't passed on yet.
    private var outgoing: [UInt8] = []
    private var incoming: [UInt8] = []
    /// Whether the connection to the server has ended.
    private var hasEnded = false

    /// - Parameters:
    ///   - socket: a connected socket, which the tunnel closes, unless this throws.
    ///   - host: the host that the certificate must name.
    ///   - onReady: called once, when the handshake is over; after an error, `close` must be called.
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

    /// Closes the tunnel, even during the handshake.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        socketWatcher?.close()
        nearWatcher?.close()
        Glibc.close(socket)
        Glibc.close(near)
    }

    private func socketIsReady(_ interest: FDWatcher.Interest) {
        // The callbacks may close this tunnel.
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
                // At the end of the input, the client library has closed its end, and closes this tunnel too.
                if count > 0 { outgoing.append(contentsOf: buffer[..<count]) }
            }
            sendOutgoing()
        }
        watch()
    }

    /// Whether earlier data still has to be written to the socket.
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

    /// Sets what the watchers wait for: each side is read only when the other one has taken the data. The client library is
    /// notified of the end after it has got all data.
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
