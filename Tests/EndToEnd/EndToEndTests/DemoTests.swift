import ChildProcesses
import Testing

extension EndToEnd {
    struct DemoTests {
        @Test func `the demo succeeds on the running system`() async throws {
            let system = try await RunningSystem.shared()
            let run = try await CapturedRun.run(
                CurrentEnvironment.sibling("partita"), ["demo", "--data", system.directory])
            #expect(run.status.isSuccess, "\(run.output)\n\(system.logEnds())")
        }
    }
}
