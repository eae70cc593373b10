public import EventLoop
import Lifecycle
import Logging

extension Readiness {
    /// Tries to reach a component that the process needs until it succeeds: an engine that is down at the start makes the process
    /// wait, not exit. Meanwhile the component isn't ready, with the last error as the reason.
    /// - Parameters:
    ///   - name: The component's name.
    ///   - retries: How long to wait between attempts.
    ///   - logger: Gets a warning on the first failure and whenever the reason changes.
    ///   - body: One attempt.
    /// - Returns: The result of the successful attempt.
    /// - Throws: `CancellationError` when the task is cancelled or a graceful shutdown begins. Never an error of `body`.
    public func waitUntilReady<Result: Sendable>(
        _ name: String, retries: RetrySchedule = RetrySchedule(first: .milliseconds(100), limit: .seconds(5)),
        logger: Logger,
        _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        set(name, .notReady("not reached yet"))
        return try await cancelWhenGracefulShutdown {
            var backoff = RetryBackoff(retries)
            var lastReason = ""
            while true {
                try Task.checkCancellation()
                do {
                    let result = try await body()
                    self.set(name, .ready)
                    if backoff.failures > 0 {
                        logger.notice(
                            "component is reachable",
                            metadata: ["component": "\(name)", "attempt": .stringConvertible(backoff.failures + 1)])
                    }
                    return result
                } catch {
                    try Task.checkCancellation()
                    let wait = backoff.next()
                    let reason = "\(error)"
                    self.set(name, .notReady(reason))
                    let metadata: Logger.Metadata = [
                        "component": "\(name)", "attempt": .stringConvertible(backoff.failures), "error": "\(reason)",
                    ]
                    if reason == lastReason {
                        logger.debug("component isn't reachable, trying again", metadata: metadata)
                    } else {
                        logger.warning("component isn't reachable, trying again", metadata: metadata)
                    }
                    lastReason = reason
                    // An engine that is away doesn't notify when it is back: it is asked, less and less often.
                    try await Task.sleep(for: wait)
                }
            }
        }
    }
}
