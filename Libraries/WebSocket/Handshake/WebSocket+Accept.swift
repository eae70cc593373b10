import EventLoop
import Glibc
import TLS

extension WebSocket {
    /// Takes over a server's socket after the 101 response. Loop only.
    ///
    /// The WebSocket owns the descriptor from here on, even if this throws.
    ///
    /// - Parameters:
    ///   - early: bytes that were received after the request's head.
    ///   - open: sets the callbacks; called before the first byte is read.
    package static func accept(
        on loop: EventLoop, descriptor: Int32, early: [UInt8], configuration: AcceptedSettings, subprotocol: String?,
        isCompressed: Bool, open: (WebSocket) -> Void
    ) throws {
        try adopt(
            on: loop, descriptor: descriptor, early: early, role: .server, settings: configuration.settings,
            subprotocol: subprotocol, isCompressed: isCompressed, open: open)
    }

    @discardableResult
    static func adopt(
        on loop: EventLoop, descriptor: Int32, tls: TLSChannel? = nil, early: [UInt8], role: Role,
        settings: SessionSettings, subprotocol: String?, isCompressed: Bool, open: (WebSocket) -> Void
    ) throws -> WebSocket {
        do {
            let flags = fcntl(descriptor, F_GETFL)
            guard flags >= 0, fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) == 0 else {
                throw WebSocketError(.outOfResources, String(cString: strerror(errno)))
            }
            let socket = try WebSocket(
                loop, descriptor: descriptor, tls: tls, role: role, settings: settings, subprotocol: subprotocol,
                isCompressed: isCompressed, early: early)
            open(socket)
            socket.start()
            return socket
        } catch {
            Glibc.close(descriptor)
            throw error
        }
    }
}

/// A ``WebSocketConfiguration`` in its internal form, which is made once for all sockets of a route.
package struct AcceptedSettings: Sendable {
    let settings: SessionSettings
    /// See ``WebSocketConfiguration/allowsCompression``.
    package let allowsCompression: Bool

    package init(_ configuration: WebSocketConfiguration) {
        settings = SessionSettings(configuration)
        allowsCompression = configuration.allowsCompression
    }
}
