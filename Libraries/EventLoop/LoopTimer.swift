import Cuv

/// A timer on a loop. Loop only. Must be closed.
public final class LoopTimer {
    private let loop: EventLoop
    private let handle: UnsafeMutablePointer<uv_timer_t>
    private var fire: (() -> Void)?
    private var isClosed = false

    /// Creates a timer that isn't started.
    /// - Parameters:
    ///   - loop: The loop whose thread calls this.
    ///   - fire: Called on the loop when the time has passed. Released by `close()`.
    public init(_ loop: EventLoop, _ fire: @escaping () -> Void) {
        loop.assertInLoop()
        self.loop = loop
        self.fire = fire
        handle = .allocate(capacity: 1)
        uv_timer_init(loop.uv, handle)
        loop.handleOpened()
        handle.pointee.data = Unmanaged.passRetained(self).toOpaque()  // released in the close callback
    }

    deinit { assert(isClosed, "LoopTimer dropped while open") }

    /// Starts the timer, or starts it again. Does nothing after `close()`.
    /// - Parameters:
    ///   - ms: Milliseconds from now on; the current, partly elapsed millisecond counts as a whole one.
    ///   - every: Milliseconds between repetitions; 0 for no repetition.
    public func start(ms: UInt64, every: UInt64 = 0) {
        if isClosed { return }
        uv_update_time(loop.uv)  // otherwise it would fire early by the time that the present turn has lasted
        uv_timer_start(
            handle,
            { handle in
                guard let data = handle?.pointee.data else { return }
                let timer = Unmanaged<LoopTimer>.fromOpaque(data).takeUnretainedValue()
                timer.loop.meter.beginTurn()
                timer.fire?()
            }, ms, every)
    }

    /// Stops the timer; it can be started again.
    public func stop() {
        if !isClosed { uv_timer_stop(handle) }
    }

    /// Ends the timer; `fire` isn't called again.
    public func close() {
        if isClosed { return }
        isClosed = true
        fire = nil
        uv_close(cuv_handle(handle)) { handle in
            guard let data = handle?.pointee.data else { return }
            let timer = Unmanaged<LoopTimer>.fromOpaque(data).takeRetainedValue()
            timer.handle.deallocate()
            timer.loop.handleClosed()
        }
    }
}
