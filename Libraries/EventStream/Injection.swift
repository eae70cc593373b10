import EventLoop

/// Counts the injected events that aren't finished, and lets their source wait until all are.
final class Injection: Sendable {
    private struct State {
        var pending = 0
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Locked(State())

    func begin() { state.withLock { $0.pending += 1 } }

    func end() {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.pending -= 1
            guard state.pending == 0 else { return nil }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    /// Returns when all events that have begun have ended. Must be called only once.
    func wait() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.pending > 0 { state.waiter = continuation }
                return state.pending == 0
            }
            if isOver { continuation.resume() }
        }
    }
}
