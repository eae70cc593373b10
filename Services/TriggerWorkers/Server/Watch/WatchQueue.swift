import DocumentModel
import EventLoop

/// The changes that wait for one stream. It never waits for its reader: when too many changes or bytes wait, it ends the stream.
final class WatchQueue: Sendable {
    /// What the stream does next.
    enum Step: Sendable {
        /// It considers these changes, in order.
        case changes([WatchedChange])
        case heartbeat
        case end(WatchEnd)
    }

    /// The numbers of changes and bytes that are passed on in one step.
    private static let step = (changes: 64, bytes: 1 << 20)

    private struct State {
        var changes = FIFO<WatchedChange>()
        var count = 0
        /// Also of the changes of the present step.
        var bytes = 0
        var present = 0
        var end: WatchEnd?
        var isBeatDue = false
        var waiter: CheckedContinuation<Step, Never>?
        /// Whether something was passed on since the last beat.
        var isBusy = false

        mutating func next(_ limit: (changes: Int, bytes: Int)) -> Step? {
            bytes -= present
            present = 0
            if let end { return .end(end) }
            var taken: [WatchedChange] = []
            while !changes.isEmpty, taken.isEmpty || taken.count < limit.changes && present < limit.bytes {
                let change = changes.removeFirst()
                count -= 1
                present += change.size
                taken.append(change)
            }
            if !taken.isEmpty {
                isBusy = true
                return .changes(taken)
            }
            guard isBeatDue else { return nil }
            isBeatDue = false
            return .heartbeat
        }
    }

    private let limits: (changes: Int, bytes: Int)
    private let state = Locked(State())

    /// - Parameters:
    ///   - changes: the number of changes that may wait.
    ///   - bytes: the number of bytes that may wait, besides the oldest change that does and those of the present step.
    init(changes: Int, bytes: Int) { limits = (changes, bytes) }

    /// The bytes that wait.
    var bytes: Int { state.withLock { $0.bytes } }

    /// Why the stream ends; `nil` while it doesn't.
    var end: WatchEnd? { state.withLock { $0.end } }

    /// Adds a change, or ends the stream when too much waits.
    func add(_ change: WatchedChange) {
        resume { state in
            guard state.end == nil else { return }
            // The oldest doesn't count: a single change may be larger than the limit.
            let oldest = state.changes.waiting.first?.size ?? change.size
            let waiting = state.bytes - state.present + change.size - oldest
            guard state.count < limits.changes, waiting <= limits.bytes else { return Self.end(&state, .slow) }
            state.changes.append(change)
            state.count += 1
            state.bytes += change.size
        }
    }

    /// Ends the stream: what waits is dropped. Only the first reason counts.
    func end(_ reason: WatchEnd) { resume { Self.end(&$0, reason) } }

    /// Makes the stream send a heartbeat, unless it has had something else to send since the last call.
    func beat() {
        resume { state in
            state.isBeatDue = !state.isBusy
            state.isBusy = false
        }
    }

    /// Waits for the next step. Only one task may call it. A cancelled task's stream has ended.
    func next() async -> Step {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let step = state.withLock { state in
                    let step = state.next(Self.step)
                    if step == nil { state.waiter = continuation }
                    return step
                }
                if let step { continuation.resume(returning: step) }
            }
        } onCancel: {
            end(.left)
        }
    }

    private static func end(_ state: inout State, _ reason: WatchEnd) {
        guard state.end == nil else { return }
        state.end = reason
        state.changes = FIFO()
        state.count = 0
        state.bytes = state.present
    }

    private func resume(_ change: (inout State) -> Void) {
        let (waiter, step) = state.withLock { state -> (CheckedContinuation<Step, Never>?, Step?) in
            change(&state)
            guard let waiter = state.waiter, let step = state.next(Self.step) else { return (nil, nil) }
            state.waiter = nil
            return (waiter, step)
        }
        if let step { waiter?.resume(returning: step) }
    }
}
