/// The time that `withTimeout` gave was over.
public struct TimeoutError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The time that was given.
    public let duration: Duration

    /// Makes an error for a time that was given.
    public init(duration: Duration) { self.duration = duration }

    /// A sentence with the time.
    public var description: String { "not done within \(duration)" }
}

/// Runs a body in a child task, which is cancelled when the time is over. Returns only after the body has ended, so the
/// body must react to cancellation.
///
/// A result that the body still has after its cancellation is returned: what was done isn't reported as not done.
/// - Throws: `TimeoutError` when the time was over and the body threw; otherwise what the body throws.
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
        // The sleep ended first: the time is over, or this task is cancelled, and so is the body.
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
