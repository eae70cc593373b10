import EventLoop

/// The signals that arrive while this object is open. The system's default handling is disabled meanwhile.
///
/// It uses an event loop of its own instead of Dispatch sources, because those require each thread of the process to block the
/// signal.
final class UnixSignalSequence: Sendable {
    private struct State {
        var arrived: [UnixSignal] = []
        var waiting: CheckedContinuation<UnixSignal?, Never>?
        var isClosed = false
    }

    private let state = Locked(State())
    private let loop: EventLoop?
    private let watchers: Watchers

    /// - Parameter began: Called once the signals are watched.
    init(_ signals: [UnixSignal], began: @escaping @Sendable () -> Void) {
        watchers = Watchers()
        guard !signals.isEmpty else {
            loop = nil
            return
        }
        let loop = EventLoop(name: "signals")
        self.loop = loop
        loop.execute { [self] in
            for signal in signals {
                watchers.open.append(SignalWatcher(loop, signal.rawValue) { [weak self] in self?.arrive(signal) })
            }
            began()
        }
    }

    /// The next signal, or `nil` when the task is cancelled or `close()` was called. Only one task may call it at a time.
    func next() async -> UnixSignal? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (ready, signal) = state.withLock { state -> (Bool, UnixSignal?) in
                    if !state.arrived.isEmpty { return (true, state.arrived.removeFirst()) }
                    if state.isClosed { return (true, nil) }
                    state.waiting = continuation
                    return (false, nil)
                }
                if ready { continuation.resume(returning: signal) }
            }
        } onCancel: {
            endWaiting()
        }
    }

    /// Restores the system's default handling of the signals.
    func close() {
        endWaiting()
        guard let loop else { return }
        loop.execute { [watchers] in
            for watcher in watchers.open { watcher.close() }
            watchers.open.removeAll()
        }
        loop.stop()
    }

    private func endWaiting() {
        let continuation = state.withLock { state in
            state.isClosed = true
            defer { state.waiting = nil }
            return state.waiting
        }
        continuation?.resume(returning: nil)
    }

    private func arrive(_ signal: UnixSignal) {
        let continuation = state.withLock { state -> CheckedContinuation<UnixSignal?, Never>? in
            guard let waiting = state.waiting else {
                // A person at a keyboard sends a few; further ones have no additional meaning.
                if state.arrived.count < 8 { state.arrived.append(signal) }
                return nil
            }
            state.waiting = nil
            return waiting
        }
        continuation?.resume(returning: signal)
    }

    /// `@unchecked Sendable`: used only on the loop's thread.
    private final class Watchers: @unchecked Sendable {
        var open: [SignalWatcher] = []
    }
}
