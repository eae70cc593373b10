import Dispatch
import EventLoop
import Glibc

/// Ctrl-C and SIGTERM as something to wait for. A second one, a second or more later, ends the process at once: the same wish often
/// comes twice, as from `timeout`, which signals its child and then its group.
// Unchecked: a dispatch source is thread-safe, and these are only kept.
final class StopSignals: @unchecked Sendable {
    private struct State {
        var first: ContinuousClock.Instant?
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
                let (isInsisting, waiting) = state.withLock { state in
                    let now = ContinuousClock.now
                    let first = state.first ?? now
                    state.first = first
                    defer { state.waiting = [] }
                    return (now - first >= .seconds(1), state.waiting)
                }
                for continuation in waiting { continuation.resume() }
                if isInsisting { _exit(130) }
            }
            source.resume()
        }
    }

    /// Whether a signal has come.
    var isRaised: Bool { state.withLock { $0.first != nil } }

    /// Returns at the first signal, also when that came before.
    func wait() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.first == nil { state.waiting.append(continuation) }
                return state.first != nil
            }
            if isOver { continuation.resume() }
        }
    }
}
