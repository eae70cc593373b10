import EventLoop

/// Runs an operation, and a handler as soon as a graceful shutdown begins; immediately if it has already begun.
///
/// The operation continues: the handler has to make it end. Outside of a `ServiceGroup` the handler never runs.
/// - Parameters:
///   - operation: The operation to run.
///   - handler: Runs at most once, on the thread that begins the shutdown, concurrently with the operation. Must not block.
public func withGracefulShutdownHandler<Result>(
    isolation: isolated (any Actor)? = #isolation, operation: () async throws -> Result,
    onGracefulShutdown handler: @escaping @Sendable () -> Void
) async rethrows -> Result {
    guard let manager = GracefulShutdownManager.current else { return try await operation() }
    guard let key = manager.add(handler) else {
        handler()
        return try await operation()
    }
    defer { manager.remove(key) }
    return try await operation()
}

/// Runs an operation, and a handler as soon as the task is cancelled or a graceful shutdown begins. The handler runs twice if both
/// happen.
public func withTaskCancellationOrGracefulShutdownHandler<Result>(
    isolation: isolated (any Actor)? = #isolation, operation: () async throws -> Result,
    onCancelOrGracefulShutdown handler: @escaping @Sendable () -> Void
) async rethrows -> Result {
    try await withTaskCancellationHandler(
        operation: {
            try await withGracefulShutdownHandler(operation: operation, onGracefulShutdown: handler)
        }, onCancel: handler)
}

/// Runs an operation in a child task, and cancels it as soon as a graceful shutdown begins.
/// - Throws: The errors of the operation; after the cancellation usually `CancellationError`.
public func cancelWhenGracefulShutdown<Result: Sendable>(
    _ operation: @escaping @Sendable () async throws -> Result
) async throws -> Result {
    guard GracefulShutdownManager.current != nil else { return try await operation() }
    return try await withThrowingTaskGroup(of: Result?.self) { group in
        group.addTask { try await operation() }
        group.addTask {
            // Ends by cancellation when the operation ends first.
            do { try await gracefulShutdown() } catch is CancellationError {}
            return nil
        }
        while let result = try await group.next() {
            group.cancelAll()
            if let result { return result }
        }
        throw CancellationError()
    }
}

/// Whether a graceful shutdown has begun.
public var isGracefullyShuttingDown: Bool { GracefulShutdownManager.current?.isShuttingDown ?? false }

/// Waits until a graceful shutdown begins.
/// - Throws: `CancellationError` when the task is cancelled before.
public func gracefulShutdown() async throws {
    let waiter = ShutdownWaiter()
    try await withTaskCancellationHandler {
        try await withGracefulShutdownHandler {
            try await waiter.wait()
        } onGracefulShutdown: {
            waiter.end(with: .success(()))
        }
    } onCancel: {
        waiter.end(with: .failure(CancellationError()))
    }
}

extension Task where Success == Never, Failure == Never {
    /// Whether a graceful shutdown has begun.
    public static var isShuttingDownGracefully: Bool { GracefulShutdownManager.current?.isShuttingDown ?? false }
}

/// A continuation that is resumed once, even if the end comes before the wait.
private final class ShutdownWaiter: Sendable {
    private enum State {
        case idle
        case waiting(CheckedContinuation<Void, any Error>)
        case ended(Result<Void, any Error>)
    }

    private let state = Locked(State.idle)

    func wait() async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            let result = state.withLock { state -> Result<Void, any Error>? in
                if case .ended(let result) = state { return result }
                state = .waiting(continuation)
                return nil
            }
            if let result { continuation.resume(with: result) }
        }
    }

    func end(with result: Result<Void, any Error>) {
        let continuation = state.withLock { state -> CheckedContinuation<Void, any Error>? in
            switch state {
            case .idle:
                state = .ended(result)
                return nil
            case .waiting(let continuation):
                state = .ended(result)
                return continuation
            case .ended: return nil
            }
        }
        continuation?.resume(with: result)
    }
}
