import Cuv

/// Watches for a signal of the operating system. The system's default handling is disabled meanwhile. Loop only. Must be closed.
public final class SignalWatcher {
    private let loop: EventLoop
    private let handle: UnsafeMutablePointer<uv_signal_t>
    private var fire: (() -> Void)?

    /// Starts to watch.
    /// - Parameters:
    ///   - loop: The loop whose thread calls this.
    ///   - signal: The signal's number, one that can be caught.
    ///   - fire: Called on the loop each time the signal arrives. Released by `close()`.
    public init(_ loop: EventLoop, _ signal: Int32, _ fire: @escaping () -> Void) {
        loop.assertInLoop()
        self.loop = loop
        self.fire = fire
        handle = .allocate(capacity: 1)
        uv_signal_init(loop.uv, handle)
        loop.handleOpened()
        handle.pointee.data = Unmanaged.passRetained(self).toOpaque()  // released in the close callback
        let status = uv_signal_start(
            handle,
            { handle, _ in
                guard let data = handle?.pointee.data else { return }
                let watcher = Unmanaged<SignalWatcher>.fromOpaque(data).takeUnretainedValue()
                watcher.loop.meter.beginTurn()
                watcher.fire?()
            }, signal)
        UVError.expectSuccess(status, "can't watch for a signal")
    }

    deinit { assert(fire == nil, "SignalWatcher dropped while open") }

    /// Stops watching; `fire` isn't called again.
    public func close() {
        if fire == nil { return }
        fire = nil
        uv_close(cuv_handle(handle)) { handle in
            guard let data = handle?.pointee.data else { return }
            let watcher = Unmanaged<SignalWatcher>.fromOpaque(data).takeRetainedValue()
            watcher.handle.deallocate()
            watcher.loop.handleClosed()
        }
    }
}

extension EventLoop {
    /// Waits until the signal arrives once. Cancellation doesn't end it.
    public func waitForSignal(_ signal: Int32) async {
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            execute {
                let box = Box()
                box.watcher = SignalWatcher(self, signal) {
                    guard let watcher = box.watcher else { return }
                    box.watcher = nil
                    watcher.close()
                    continuation.resume()
                }
            }
        }
    }

    /// Gives a watcher's closure access to the watcher.
    private final class Box {
        var watcher: SignalWatcher?
    }
}
