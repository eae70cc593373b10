import EventLoop

/// The state of a graceful shutdown, and the handlers to call when it begins. It is a task-local value, so that it reaches all
/// child tasks of a service's `run()`.
final class GracefulShutdownManager: Sendable {
    @TaskLocal static var current: GracefulShutdownManager?

    private struct State {
        var isShuttingDown = false
        var handlers: [Int: @Sendable () -> Void] = [:]
        var nextHandler = 0
    }

    private let state = Locked(State())

    var isShuttingDown: Bool { state.withLock { $0.isShuttingDown } }

    /// Registers a handler.
    /// - Returns: The key for removing it, or `nil` if the shutdown has begun: then the caller has to run it.
    func add(_ handler: @escaping @Sendable () -> Void) -> Int? {
        state.withLock { state in
            if state.isShuttingDown { return nil }
            state.nextHandler += 1
            state.handlers[state.nextHandler] = handler
            return state.nextHandler
        }
    }

    func remove(_ key: Int) { state.withLock { _ = $0.handlers.removeValue(forKey: key) } }

    /// Begins the shutdown. Only the first call has an effect.
    func shutDownGracefully() {
        let handlers = state.withLock { state in
            if state.isShuttingDown { return [] as [@Sendable () -> Void] }
            state.isShuttingDown = true
            defer { state.handlers.removeAll() }
            return state.handlers.sorted { $0.key < $1.key }.map(\.value)
        }
        // Called without the lock: a handler may cancel a task, whose own handlers may call this object.
        for handler in handlers { handler() }
    }
}
