/// A part of a process that runs until the process ends.
///
/// `run()` does all of its work in a tree of tasks; `init` starts nothing. It returns only after a graceful shutdown has begun
/// (`gracefulShutdown()`, `withGracefulShutdownHandler`, `cancelWhenGracefulShutdown`) or the task was cancelled. Returning
/// earlier, or throwing, ends the group in which the service runs.
public protocol Service: Sendable {
    /// Runs the service to its end.
    func run() async throws
}
