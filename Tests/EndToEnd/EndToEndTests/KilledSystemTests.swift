import Glibc
import LocalEngines
import TestSupport
import Testing

extension EndToEnd {
    /// What `partita up` started doesn't outlive it.
    struct KilledSystemTests {
        @Test func `kill -9 of up leaves nothing behind, and the next one works at once`() async throws {
            let name = "partita-e2e-killed-\(getpid())"
            let first = try await RunningSystem.start(name)
            let processes = try first.processes
            first.up.signal(SIGKILL)
            try await eventually("nothing of it runs", within: .seconds(10)) {
                processes.values.allSatisfy { kill($0, 0) != 0 }
            }
            for port in first.basePort..<first.basePort + 15 { #expect(!LocalPort.isTaken(port)) }

            let start = ContinuousClock.now
            let second = try await RunningSystem.start(name, basePort: first.basePort)
            print("up again \(ContinuousClock.now - start) after it was killed")
            #expect(await second.up.terminate(grace: .seconds(40)) == .exited(0))
        }
    }
}
