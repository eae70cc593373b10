/// Something that runs as long as the process does.
///
/// `run()` holds all of its work, as a tree of tasks; `init` starts nothing. It returns only after a graceful shutdown
/// was asked for (`gracefulShutdown()`, `withGracefulShutdownHandler`, `cancelWhenGracefulShutdown`) or the task was
/// cancelled. Returning earlier, or throwing, ends the group that the service runs in.
public protocol Service: Sendable {
    /// Runs the service to its end.
    func run() async throws
}
