import Dispatch
import EventLoop
import Glibc

/// Ctrl-C and SIGTERM as something to wait for. A second one ends the process at once.
// Unchecked: a dispatch source is thread-safe, and these are only kept.
final class StopSignals: @unchecked Sendable {
    private struct State {
        var count = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Locked(State())
    private let sources: [any DispatchSourceSignal]

    init() {
        sources = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            return DispatchSource.makeSignalSource(signal: number)
        }
        for source in sources {
            source.setEventHandler { [state] in
                let (count, waiting) = state.withLock { state in
                    state.count += 1
                    defer { state.waiting = [] }
                    return (state.count, state.waiting)
                }
                for continuation in waiting { continuation.resume() }
                if count > 1 { _exit(130) }
            }
            source.resume()
        }
    }

    /// Returns at the first signal, also when that came before.
    func wait() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.count == 0 { state.waiting.append(continuation) }
                return state.count > 0
            }
            if isOver { continuation.resume() }
        }
    }
}
