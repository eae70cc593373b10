import EventLoop
import Glibc

/// Connections on which a response was sent before the body had come. What the client still sends is received and dropped for a while:
/// otherwise the kernel would reset the connection, and the client, or a proxy in front, would lose the response (RFC 9112, 9.6).
/// Loop only.
final class LingeringConnections {
    private final class Connection {
        let descriptor: Int32
        var watcher: FDWatcher?
        var bytesLeft: Int
        /// When it is closed in any case, in the loop's milliseconds.
        let end: UInt64
        var lastByte: UInt64

        init(_ descriptor: Int32, bytes: Int, now: UInt64) {
            self.descriptor = descriptor
            bytesLeft = bytes
            end = now + LingeringConnections.longest
            lastByte = now
        }
    }

    /// Milliseconds.
    private static let longest: UInt64 = 30_000
    private static let longestPause: UInt64 = 5000
    /// Further connections are closed at once.
    private static let limit = 256
    /// The bytes that are dropped, at least.
    private static let leastBytes = 16 << 20
    private static let pieceBytes = 64 << 10
    /// Pieces in one turn of the loop.
    private static let pieces = 8

    private let loop: EventLoop
    private var connections: [Int32: Connection] = [:]
    private let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceBytes, alignment: 16)

    init(_ loop: EventLoop) { self.loop = loop }

    deinit { scratch.deallocate() }

    /// Takes over a connection whose response is sent.
    ///
    /// - Parameters:
    ///   - descriptor: stays the caller's, who may close it.
    ///   - bodyLimit: that of the refused body; the larger it is, the more a client may still send.
    func add(_ descriptor: Int32, bodyLimit: Int) {
        guard connections.count < Self.limit else { return }
        let own = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard own >= 0 else { return }
        // The client sees the end of the response.
        shutdown(own, Int32(SHUT_WR))
        let connection = Connection(own, bytes: max(2 * bodyLimit, Self.leastBytes), now: loop.now)
        connections[own] = connection
        guard receive(connection) else { return close(connection) }
        do {
            connection.watcher = try FDWatcher(loop, fd: own) { [unowned self, unowned connection] _ in
                if !receive(connection) { close(connection) }
            }
            connection.watcher?.set(.read)
        } catch {
            // It can't be watched, so it is closed, as it would have been.
            close(connection)
        }
    }

    /// Closes those whose time is over.
    func closeLate(now: UInt64) {
        for connection in connections.values
        where now >= connection.end || now >= connection.lastByte + Self.longestPause {
            close(connection)
        }
    }

    func closeAll() {
        for connection in connections.values { close(connection) }
    }

    /// Drops what has come; false at the end. The socket is non-blocking, as libmicrohttpd made it.
    private func receive(_ connection: Connection) -> Bool {
        for _ in 0..<Self.pieces {
            let count = recv(connection.descriptor, scratch.baseAddress, scratch.count, 0)
            if count < 0 { return errno == EAGAIN || errno == EINTR }
            connection.bytesLeft -= count
            guard count > 0, connection.bytesLeft > 0 else { return false }
            connection.lastByte = loop.now
        }
        return true
    }

    private func close(_ connection: Connection) {
        connections[connection.descriptor] = nil
        connection.watcher?.close()
        Glibc.close(connection.descriptor)
    }
}
