import EventLoop
import WebSocket

/// Stops reading from a device for a while when the frames of its user's devices have taken too much processor time.
///
/// Confined to the loop of the socket.
final class FrameThrottle {
    /// The user to whom the time is charged; `nil` before `hello`, which is the only frame of a connection without a user.
    var sender: UInt64?

    private let budget: TimeBudget
    private let socket: WebSocket
    private let resume: () -> Void
    /// What frames have taken since the last charge.
    private var uncharged = Duration.zero
    private var timer: LoopTimer?

    /// The time that is charged at once: most frames take a few microseconds, and all sessions share the budget.
    private static let unit = Duration.milliseconds(1)
    /// The pauses in reading that are worth a timer, and the longest one: a socket that isn't read for long looks lost to the device.
    private static let pauses = Duration.milliseconds(50)...(.seconds(5))

    /// - Parameter resume: Called when the socket may be read again.
    init(_ socket: WebSocket, budget: TimeBudget, resume: @escaping () -> Void) {
        self.socket = socket
        self.budget = budget
        self.resume = resume
    }

    /// Whether the socket must not be read.
    var isPaused: Bool { timer != nil }

    /// A frame has taken this time.
    func charge(_ time: Duration) {
        uncharged += time
        if uncharged >= Self.unit { settle() }
    }

    /// Call it at the end of the connection.
    func close() {
        timer?.close()
        timer = nil
    }

    private func settle() {
        guard let sender, socket.isOpen else { return }
        let pause = budget.charge(uncharged, of: sender)
        uncharged = .zero
        guard let pause, pause >= Self.pauses.lowerBound else { return }
        socket.pauseReading()
        close()
        let timer = LoopTimer(socket.loop) { [unowned self] in
            close()
            // Another device of the user may have spent what was regained.
            settle()
            if !isPaused { resume() }
        }
        self.timer = timer
        // The user's devices don't all continue at once.
        let jittered = min(pause, Self.pauses.upperBound) * Double.random(in: 1...1.25)
        timer.start(ms: UInt64(jittered / .milliseconds(1)))
    }
}
