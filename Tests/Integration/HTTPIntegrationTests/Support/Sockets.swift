import EventLoop
import HTTPServer
import WebSocket

/// What a socket's callbacks saw, readable from a test.
final class SocketLog: Sendable {
    private let state = Locked<(messages: [[UInt8]], closure: WebSocketClosure?)>(([], nil))

    var messages: [[UInt8]] { state.withLock { $0.messages } }
    var texts: [String] { messages.map { String(decoding: $0, as: UTF8.self) } }
    var closure: WebSocketClosure? { state.withLock { $0.closure } }

    /// Sets the callbacks.
    func attach(_ socket: WebSocket) {
        socket.onMessage = { [self] _, bytes in
            let message = Array(bytes)
            state.withLock { $0.messages.append(message) }
        }
        socket.onClose = { [self] closure in state.withLock { $0.closure = closure } }
    }
}

extension WebSocket {
    /// Runs a closure on the socket's loop.
    func onLoop(_ body: @escaping @Sendable (WebSocket) -> Void) {
        loop.execute { [self] in body(self) }
    }

    /// Returns a closure's result from the socket's loop.
    func read<Value: Sendable>(_ body: @escaping @Sendable (WebSocket) -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            loop.execute { [self] in continuation.resume(returning: body(self)) }
        }
    }
}

extension HTTPRouter {
    /// Echoes what arrives.
    mutating func echo(
        _ path: String, _ configuration: WebSocketConfiguration = WebSocketConfiguration(), log: SocketLog? = nil
    ) {
        webSocket(path) { request in
            .webSocket(configuration: configuration) { socket in
                log?.attach(socket)
                let seen = socket.onMessage
                socket.onMessage = { [unowned socket] opcode, bytes in
                    seen?(opcode, bytes)
                    socket.send(WebSocketFrame(opcode, bytes, isCompressible: true))
                }
            }
        }
    }
}
