import EventLoop
import Foundation
import LocalEngines

/// Stops what the test process started when it ends.
enum EnginesAtExit {
    private struct State {
        var engines: [any Engine] = []
        var roots: [String] = []
        var isRegistered = false
    }

    private static let state = Locked(State())

    static func remember(_ engine: any Engine) {
        register { $0.engines.append(engine) }
    }

    static func remember(root: String) {
        register { $0.roots.append(root) }
    }

    private static func register(_ change: (inout State) -> Void) {
        state.withLock { state in
            change(&state)
            if !state.isRegistered {
                state.isRegistered = true
                atexit { EnginesAtExit.stopAll() }
            }
        }
    }

    private static func stopAll() {
        let (engines, roots) = state.withLock { ($0.engines, $0.roots) }
        let done = DispatchSemaphore(value: 0)
        Task.detached {  // `atexit` can't await, and this is the process's last act
            for engine in engines { await engine.signal(SIGKILL) }
            for engine in engines { await engine.waitForExit() }
            done.signal()
        }
        _ = done.wait(timeout: .now() + 10)
        for root in roots { try? FileManager.default.removeItem(atPath: root) }  // a temporary directory
    }
}
