/// Triggers the graceful shutdown of the operation in `testGracefulShutdown`.
public struct GracefulShutdownTrigger: Sendable {
    let manager: GracefulShutdownManager

    /// Begins the shutdown.
    public func triggerGracefulShutdown() { manager.shutDownGracefully() }
}

/// Runs an operation whose graceful shutdown can be triggered manually, for tests of a single service:
///
///     try await testGracefulShutdown { trigger in
///         async let ended: Void = service.run()
///         trigger.triggerGracefulShutdown()
///         try await ended
///     }
@discardableResult
public func testGracefulShutdown<Result>(
    isolation: isolated (any Actor)? = #isolation, _ operation: (GracefulShutdownTrigger) async throws -> Result
) async rethrows -> Result {
    let manager = GracefulShutdownManager()
    return try await GracefulShutdownManager.$current.withValue(manager) {
        try await operation(GracefulShutdownTrigger(manager: manager))
    }
}
