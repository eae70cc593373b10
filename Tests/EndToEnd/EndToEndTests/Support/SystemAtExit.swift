import ChildProcesses
import EventLoop
import Foundation

/// Stops the system, and what was started beside it, when the test process ends.
enum SystemAtExit {
    private struct State {
        var up: ChildProcess?
        var directory = ""
        var others: [ChildProcess] = []
    }

    private static let state = Locked(State())

    static func remember(_ up: ChildProcess, directory: String) {
        state.withLock { state in
            state.up = up
            state.directory = directory
        }
        atexit { SystemAtExit.stop() }
    }

    /// A process that a test ends itself, unless it fails before.
    static func remember(_ other: ChildProcess) { state.withLock { $0.others.append(other) } }

    private static func stop() {
        let state = state.withLock { $0 }
        for other in state.others { other.signal(SIGKILL) }
        let done = DispatchSemaphore(value: 0)
        Task.detached {  // `atexit` can't await, and this is the process's last act
            await state.up?.terminate(grace: .seconds(40))
            done.signal()
        }
        done.wait()
        // Kept on request, for whoever looks for a failure's reason.
        guard CurrentEnvironment.variables["PARTITA_KEEP_LOGS"] == nil else { return }
        // A temporary directory: nothing depends on the removal.
        try? FileManager.default.removeItem(atPath: state.directory)
    }
}
