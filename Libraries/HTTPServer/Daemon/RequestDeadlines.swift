import Cmicrohttpd

/// Closes connections whose next request isn't complete in time. libmicrohttpd's idle timeout restarts with every byte, so a client
/// that sends one occasionally would keep its connection for hours. Loop only.
struct RequestDeadlines {
    /// A TCP connection of libmicrohttpd.
    ///
    /// `@unchecked Sendable`: used only on its listener's loop.
    final class Connection: @unchecked Sendable {
        let descriptor: Int32
        /// The limit of a body that was refused before it had come; see ``LingeringConnections``.
        var refusedBodyLimit: Int?
        fileprivate var position = 0
        /// When the wait for the present request began, in the loop's milliseconds; `nil` while the request is being answered.
        fileprivate var waitsSince: UInt64?

        init(_ descriptor: Int32) { self.descriptor = descriptor }
    }

    private let limit: UInt64
    private var connections: [Connection] = []

    /// - Parameter limit: milliseconds for the head and the body of one request.
    init(limit: UInt64) { self.limit = limit }

    mutating func add(_ connection: Connection, now: UInt64) {
        connection.waitsSince = now
        connection.position = connections.count
        connections.append(connection)
    }

    mutating func remove(_ connection: Connection) {
        let last = connections.removeLast()
        guard last !== connection else { return }
        connections[connection.position] = last
        last.position = connection.position
    }

    /// Call it when the request is complete, or refused.
    func answers(_ connection: Connection?) { connection?.waitsSince = nil }

    /// Call it when the response is sent: the next request's time begins.
    func waits(_ connection: Connection?, now: UInt64) { connection?.waitsSince = now }

    /// Shuts down late connections; libmicrohttpd notices the end and closes them.
    func closeLate(now: UInt64) {
        for connection in connections {
            guard let start = connection.waitsSince, now - start > limit else { continue }
            cmhd_end(connection.descriptor)
        }
    }
}
