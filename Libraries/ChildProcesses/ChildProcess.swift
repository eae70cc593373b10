import EventLoop
import Glibc

/// A child process. Its end is noticed immediately, without polling.
public final class ChildProcess: Sendable {
    /// The destination of the child's standard output and standard error.
    public enum Output: Sendable {
        case inherit
        case discard
        /// Appended to the file, which is created when it is missing.
        case file(String)
        /// A descriptor of the parent, such as the writing end of a pipe.
        case descriptor(Int32)
        /// A descriptor of the parent for standard output; standard error is discarded.
        case standardOutput(Int32)
    }

    public enum ExitStatus: Hashable, Sendable {
        case exited(Int32)
        case signaled(Int32)

        public var isSuccess: Bool { self == .exited(0) }
    }

    /// The account that a child runs as.
    public struct Account: Hashable, Sendable {
        public let user: uid_t
        public let group: gid_t

        public init(user: uid_t, group: gid_t) {
            self.user = user
            self.group = group
        }
    }

    private struct State {
        var status: ExitStatus?
        var waiting: [CheckedContinuation<ExitStatus, Never>] = []
    }

    public let pid: pid_t
    public let name: String
    private let state = Locked(State())

    init(pid: pid_t, name: String) {
        self.pid = pid
        self.name = name
    }

    /// Starts a program.
    ///
    /// The child gets default signal handling, only the descriptors 0, 1, 2 and the given ones, and a process group of its own, so
    /// that a Ctrl-C in the terminal reaches only the parent, which decides the order of the shutdown. It doesn't outlive the
    /// parent: the kernel sends it `deathSignal` when the parent ends, even if it is killed.
    /// - Parameters:
    ///   - executable: a path, or a name that is looked up in `PATH`.
    ///   - environment: replaces the parent's when given.
    ///   - descriptors: additional descriptors of the parent; the first becomes 3, the next 4, and so on.
    ///   - account: the account that it runs as, if not the present user; for root only.
    ///   - deathSignal: the signal that it gets when the parent ends. A child that starts other processes must pass it on.
    ///   - restrictions: the restrictions for it and for any program that it executes or starts.
    /// - Throws: `ChildProcessError` when the program can't be started.
    public static func spawn(
        _ executable: String, _ arguments: [String] = [], environment: [String: String]? = nil,
        workingDirectory: String? = nil, output: Output = .inherit, descriptors: [Int32] = [], account: Account? = nil,
        deathSignal: Int32 = SIGKILL, restrictions: Restrictions = Restrictions()
    ) throws(ChildProcessError) -> ChildProcess {
        try ParentThread.start(
            Launch(
                executable: executable, arguments: arguments, environment: environment ?? CurrentEnvironment.variables,
                workingDirectory: workingDirectory, output: output, descriptors: descriptors, account: account,
                deathSignal: deathSignal, restrictions: restrictions))
    }

    /// Waits for the end, and returns the exit status.
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
        // Sent under the lock, so that the pid can't have been reused: `reap` also reaps under the lock.
        state.withLock { if $0.status == nil { kill(pid, number) } }
    }

    /// Sends a signal to the child and to what it has started in its process group, unless the child has ended.
    public func signalGroup(_ number: Int32) {
        state.withLock { if $0.status == nil { kill(-pid, number) } }  // under the lock for the same reason
    }

    /// Sends SIGTERM, and SIGKILL if the child still runs after `grace`.
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

    /// Waits for the child's end, on a thread of its own.
    func reap() {
        var info = siginfo_t()
        // WNOWAIT: the process stays a zombie and keeps its pid until it is reaped under the lock.
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
}
