/// An occurrence that happens once, and that tasks can wait for.
public final class Milestone: Sendable {
    private struct State {
        var isReached = false
        var nextID = 0
        var waiters: [Int: CheckedContinuation<Void, any Error>] = [:]
    }

    private let state = Locked(State())

    /// Creates a milestone that isn't reached.
    public init() {}

    /// Whether the milestone is reached.
    public var isReached: Bool { state.withLock { $0.isReached } }

    /// Marks the milestone as reached, and resumes all waiting tasks.
    public func reach() {
        let waiters = state.withLock { state in
            state.isReached = true
            defer { state.waiters.removeAll() }
            return state.waiters.values.map { $0 }
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Returns when the milestone is reached.
    /// - Throws: `CancellationError` when the waiting task is cancelled before that.
    public func wait() async throws {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isCancelled = Task.isCancelled
                let isReached = state.withLock { state in
                    if !state.isReached, !isCancelled { state.waiters[id] = continuation }
                    return state.isReached
                }
                if isReached {
                    continuation.resume()
                } else if isCancelled {
                    continuation.resume(throwing: CancellationError())
                }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.resume(throwing: CancellationError())
        }
    }
}
