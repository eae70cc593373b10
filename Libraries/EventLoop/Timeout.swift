/// The time limit of `withTimeout` was exceeded.
public struct TimeoutError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The time limit.
    public let duration: Duration

    /// Makes an error for a time limit.
    public init(duration: Duration) { self.duration = duration }

    /// The error in words, with the time limit.
    public var description: String { "not done within \(duration)" }
}

/// Runs a body in a child task, which is cancelled after the time limit. Returns only after the body has ended, so the body must
/// react to cancellation.
///
/// If the body still returns a result after its cancellation, that result is returned, so that completed work isn't reported as
/// failed.
/// - Throws: `TimeoutError` when the time limit was exceeded and the body threw; otherwise the error of the body.
public func withTimeout<Result: Sendable>(
    _ duration: Duration, _ body: @escaping @Sendable () async throws -> Result
) async throws -> Result {
    try await withThrowingTaskGroup(of: Result?.self) { group in
        group.addTask { try await body() }
        group.addTask {
            do { try await Task.sleep(for: duration) } catch is CancellationError {}
            return nil
        }
        defer { group.cancelAll() }
        if let result = try await group.next() ?? nil { return result }
        // The sleep ended first: either the time limit is exceeded, or this task is cancelled, and the body with it.
        group.cancelAll()
        let isCancelled = Task.isCancelled
        do {
            if let result = try await group.next() ?? nil { return result }
        } catch  where isCancelled {
            throw error
        } catch {
            throw TimeoutError(duration: duration)
        }
        throw CancellationError()
    }
}
