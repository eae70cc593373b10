import ChildProcesses
import DocumentModel
import EventLoop
import Foundation
import Glibc
import ServiceBootstrap

/// The ends of services: those that the run caused, and those that nobody caused.
final class ChaosEnds: Sendable {
    private struct State {
        var kills: [String: Int] = [:]
        var unexpected: [String] = []
        var losesCommits = false
        var isStopping = false
    }

    private let state = Locked(State())

    /// A service is about to be killed.
    func killing(_ name: String) { state.withLock { $0.kills[name, default: 0] += 1 } }

    /// It didn't run: nothing was killed.
    func wasDown(_ name: String) { state.withLock { $0.kills[name, default: 1] -= 1 } }

    /// Postgres is about to lose commits: services may end from now on, to be started again.
    func losingCommits() { state.withLock { $0.losesCommits = true } }

    /// From now on every service may end.
    func stopping() { state.withLock { $0.isStopping = true } }

    func ended(_ name: String, _ status: ChildProcess.ExitStatus, reason: String?) {
        state.withLock { state in
            if state.isStopping || state.losesCommits && status == .exited(StartFailure.Status.again.rawValue) {
                return
            }
            if status == .signaled(SIGKILL), let count = state.kills[name], count > 0 {
                state.kills[name] = count - 1
                return
            }
            state.unexpected.append("\(name) ended (\(status))\(reason.map { ": \($0.prefix(500))" } ?? "")")
        }
    }

    var unexpected: [String] { state.withLock { $0.unexpected } }
}
