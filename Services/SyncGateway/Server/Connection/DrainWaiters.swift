import EventLoop
import WebSocket

/// Those who wait until everything that a socket has queued has left it, such as a revocation.
///
/// Confined to the loop of the socket.
final class DrainWaiters {
    private let socket: WebSocket
    private var waiting: [() -> Void] = []
    private var timer: LoopTimer?

    /// How long a client may take to receive what was queued, in milliseconds.
    private static let patience: UInt64 = 1000

    init(_ socket: WebSocket) { self.socket = socket }

    /// Calls back when the kernel has taken everything that is queued, or the connection was reset: immediately when the queue is
    /// empty, and after at most a second.
    /// - Parameter isUrgent: Whether the connection is reset after that time; otherwise the client may take longer.
    func wait(isUrgent: Bool = true, _ body: @escaping () -> Void) {
        guard socket.queuedBytes > 0 else { return body() }
        waiting.append(body)
        guard isUrgent, timer == nil else { return }
        timer = LoopTimer(socket.loop) { [socket] in socket.terminate() }
        timer?.start(ms: Self.patience)
    }

    /// The queue is empty, or the connection has ended.
    func release() {
        timer?.close()
        timer = nil
        let released = waiting
        waiting = []
        for body in released { body() }
    }
}
