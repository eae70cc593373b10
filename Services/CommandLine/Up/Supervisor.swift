import ChildProcesses
import EventLoop

/// Keeps a child process running: starts it again when it ends by itself, and counts its crashes.
actor Supervisor {
    /// What to do when the child has ended by itself.
    enum Decision: Sendable {
        case startAgain
        /// Don't start it again; its status is the result.
        case end
    }

    /// Starts the child.
    /// - Parameter crashes: how often it was killed by a signal so far.
    typealias Spawn = @Sendable (_ crashes: Int) throws -> ChildProcess
    typealias Decide = @Sendable (ChildProcess.ExitStatus) -> Decision

    private let spawn: Spawn
    private let decide: Decide
    private var child: ChildProcess?
    private var watching: Task<ChildProcess.ExitStatus?, Never>?
    private var isStopping = false
    private var crashes = 0

    /// The pauses before new starts. A run of a minute resets them.
    private var backoff = RetryBackoff(RetrySchedule(first: .milliseconds(100), limit: .seconds(10)))

    /// - Parameter decide: called each time that the child ends by itself; also reports that to the user.
    init(spawn: @escaping Spawn, decide: @escaping Decide) {
        self.spawn = spawn
        self.decide = decide
    }

    /// - Throws: what `spawn` throws.
    func start() throws {
        let child = try spawn(crashes)
        self.child = child
        watching = Task { await watch(child) }  // owned by this actor, ended by `stop`
    }

    /// Waits until the child isn't started again, and returns its last status; `nil` when `stop` was called.
    func end() async -> ChildProcess.ExitStatus? { await watching?.value }

    /// Ends the child, and returns its status.
    @discardableResult
    func stop(grace: Duration) async -> ChildProcess.ExitStatus? {
        isStopping = true
        watching?.cancel()
        let status = await child?.terminate(grace: grace)
        _ = await watching?.value
        return status
    }

    /// Sends the child a signal.
    /// - Returns: whether it runs.
    @discardableResult
    func signal(_ number: Int32) -> Bool {
        guard let child, child.exitStatus == nil else { return false }
        child.signal(number)
        return true
    }

    private func watch(_ first: ChildProcess) async -> ChildProcess.ExitStatus? {
        var current = first
        while true {
            let started = ContinuousClock.now
            let status = await current.wait()
            if isStopping { return nil }
            if case .signaled = status { crashes += 1 }
            if case .end = decide(status) { return status }
            if ContinuousClock.now - started > .seconds(60) { backoff.reset() }
            do { current = try await startAgain(current.name) } catch {
                return nil  // stopped
            }
        }
    }

    /// Starts the child again, as often as it takes: what is in the way, such as a full disk, ends sooner or later.
    /// - Throws: `CancellationError` when it is stopped meanwhile.
    private func startAgain(_ name: String) async throws -> ChildProcess {
        while true {
            try await Task.sleep(for: backoff.next())
            try Task.checkCancellation()
            do {
                let next = try spawn(crashes)
                child = next
                return next
            } catch {
                Progress.line("\(name) can't be started again now, which is tried further: \(error)")
            }
        }
    }
}
