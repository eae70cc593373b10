import ChildProcesses
import EventLoop
import Foundation

/// Stops the systems, and what was started beside them, when the test process ends.
enum SystemAtExit {
    private struct State {
        var systems: [(up: ChildProcess, directory: String)] = []
        var others: [ChildProcess] = []
    }

    private static let state = Locked(State())

    static func remember(_ up: ChildProcess, directory: String) {
        let isFirst = state.withLock { state in
            state.systems.append((up, directory))
            return state.systems.count == 1
        }
        if isFirst { atexit { SystemAtExit.stop() } }
    }

    /// A process that a test ends itself, unless it fails before.
    static func remember(_ other: ChildProcess) { state.withLock { $0.others.append(other) } }

    private static func stop() {
        let state = state.withLock { $0 }
        for other in state.others { other.signal(SIGKILL) }
        let done = DispatchSemaphore(value: 0)
        Task.detached {  // `atexit` can't await, and this is the process's last act
            for system in state.systems { await system.up.terminate(grace: .seconds(40)) }
            done.signal()
        }
        done.wait()
        // Kept on request, to find the cause of a failure.
        guard CurrentEnvironment.variables["PARTITA_KEEP_LOGS"] == nil else { return }
        // Temporary directories: nothing depends on the removal.
        for system in state.systems { try? FileManager.default.removeItem(atPath: system.directory) }
    }
}
