import ChildProcesses
import EventLoop
import Foundation

/// Stops the system when the test process ends.
enum SystemAtExit {
    private static let running = Locked<(up: ChildProcess, directory: String)?>(nil)

    static func remember(_ up: ChildProcess, directory: String) {
        running.withLock { $0 = (up, directory) }
        atexit { SystemAtExit.stop() }
    }

    private static func stop() {
        guard let (up, directory) = running.withLock({ $0 }) else { return }
        let done = DispatchSemaphore(value: 0)
        Task.detached {  // `atexit` can't await, and this is the process's last act
            await up.terminate(grace: .seconds(40))
            done.signal()
        }
        done.wait()
        // Kept on request, for whoever looks for a failure's reason.
        if CurrentEnvironment.variables["PARTITA_KEEP_LOGS"] == nil {
            try? FileManager.default.removeItem(atPath: directory)
        }
    }
}
