import Dispatch
import EventLoop
import Glibc

/// Lets a caller wait for Ctrl-C or SIGTERM. A second signal, a second or more later, ends the process at once; earlier ones are
/// ignored, since the same request often arrives twice: `timeout` signals its child and then its group.
// Unchecked: dispatch sources are thread-safe, and these are only retained.
final class StopSignals: @unchecked Sendable {
    private struct State {
        var first: ContinuousClock.Instant?
        /// The first signal's number.
        var number: Int32?
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Locked(State())
    private let sources: [any DispatchSourceSignal]

    init() {
        let numbers = [SIGINT, SIGTERM]
        sources = numbers.map { number in
            signal(number, SIG_IGN)
            return DispatchSource.makeSignalSource(signal: number)
        }
        for (number, source) in zip(numbers, sources) {
            source.setEventHandler { [state] in
                let (isInsisting, waiting) = state.withLock { state in
                    let now = ContinuousClock.now
                    let first = state.first ?? now
                    state.first = first
                    state.number = state.number ?? number
                    defer { state.waiting = [] }
                    return (now - first >= .seconds(1), state.waiting)
                }
                for continuation in waiting { continuation.resume() }
                if isInsisting { _exit(130) }
            }
            source.resume()
        }
    }

    /// Whether a signal was received.
    var isRaised: Bool { state.withLock { $0.first != nil } }

    /// The name of the first signal, such as `Ctrl-C`; `nil` when none was received.
    var name: String? { state.withLock { $0.number.map { $0 == SIGINT ? "Ctrl-C" : "SIGTERM" } } }

    /// Returns after the first signal, also when it was received before.
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
