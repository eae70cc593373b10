import EventLoop
import Glibc

/// A process that this one started. Its end is noticed at once; nobody has to poll for it.
public final class ChildProcess: Sendable {
    /// Where the child's standard output and standard error go.
    public enum Output: Sendable {
        case inherit
        case discard
        /// Appended to the file, which is created when it is missing.
        case file(String)
    }

    public enum ExitStatus: Hashable, Sendable {
        case exited(Int32)
        case signaled(Int32)

        public var isSuccess: Bool { self == .exited(0) }
    }

    private struct State {
        var status: ExitStatus?
        var waiting: [CheckedContinuation<ExitStatus, Never>] = []
    }

    public let pid: pid_t
    public let name: String
    private let state = Locked(State())

    private init(pid: pid_t, name: String) {
        self.pid = pid
        self.name = name
    }

    /// Starts a program.
    ///
    /// The child gets default signal handling, no descriptor but 0, 1, 2 and those named, and a process group of its own, so that
    /// a Ctrl-C at the terminal reaches only the parent, which decides the order of the stop.
    /// - Parameters:
    ///   - executable: a path, or a name that is looked up in `PATH`.
    ///   - environment: replaces the parent's when given.
    ///   - descriptors: further descriptors of the parent; the first becomes 3, the next 4, and so on.
    /// - Throws: `ChildProcessError` when the program can't be started.
    public static func spawn(
        _ executable: String, _ arguments: [String] = [], environment: [String: String]? = nil,
        workingDirectory: String? = nil, output: Output = .inherit, descriptors: [Int32] = []
    ) throws -> ChildProcess {
        let launch = try Launch(workingDirectory: workingDirectory, output: output, descriptors: descriptors)
        defer { launch.destroy() }
        let pid = try launch.spawn(executable, arguments, environment: environment ?? CurrentEnvironment.variables)
        let child = ChildProcess(pid: pid, name: executable)
        child.watch()
        return child
    }

    /// The exit status; waits for the end.
    public func wait() async -> ExitStatus {
        await withCheckedContinuation { continuation in
            let status = state.withLock { state -> ExitStatus? in
                if state.status == nil { state.waiting.append(continuation) }
                return state.status
            }
            if let status { continuation.resume(returning: status) }
        }
    }

    /// The exit status, or `nil` while the child runs.
    public var exitStatus: ExitStatus? { state.withLock { $0.status } }

    /// Sends a signal, unless the child has ended.
    public func signal(_ number: Int32) {
        // Under the lock, so that the number isn't another process's by now: `watch` reaps under the lock as well.
        state.withLock { if $0.status == nil { kill(pid, number) } }
    }

    /// Sends SIGTERM, and SIGKILL when the child is still there after `grace`.
    @discardableResult
    public func terminate(grace: Duration = .seconds(10)) async -> ExitStatus {
        signal(SIGTERM)
        let killer = Task {
            try await Task.sleep(for: grace)
            signal(SIGKILL)
        }
        defer { killer.cancel() }
        return await wait()
    }

    /// A thread that waits for the child's end: it costs a few kilobytes, needs no SIGCHLD handler, and loses nothing.
    private func watch() {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setstacksize(&attributes, 128 << 10)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        var thread = pthread_t()
        let reference = Unmanaged.passRetained(self)
        let result = pthread_create(
            &thread, &attributes,
            { raw in
                if let raw { Unmanaged<ChildProcess>.fromOpaque(raw).takeRetainedValue().reap() }
                return nil
            }, reference.toOpaque())
        pthread_attr_destroy(&attributes)
        if result != 0 {
            reference.release()
            finish(.signaled(0))
        }
    }

    private func reap() {
        var info = siginfo_t()
        // WNOWAIT: the process stays a zombie, and its number its own, until it is reaped under the lock.
        while waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        var raw: Int32 = 0
        let waiting = state.withLock { state in
            waitpid(pid, &raw, 0)
            state.status = raw & 0x7f == 0 ? .exited(raw >> 8 & 0xff) : .signaled(raw & 0x7f)
            defer { state.waiting = [] }
            return (state.waiting, state.status)
        }
        if let status = waiting.1 { for continuation in waiting.0 { continuation.resume(returning: status) } }
    }

    private func finish(_ status: ExitStatus) {
        let waiting = state.withLock { state in
            state.status = status
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume(returning: status) }
    }
}
