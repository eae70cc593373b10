import ChildProcesses
import Testing

extension RunningSystem {
    /// Runs `partita check` beside the running system: what is in Postgres has to agree, whatever was killed before.
    func check(app: String = "rchat") async throws {
        let run = try await CapturedRun.run(
            CurrentEnvironment.sibling("partita"), ["check", "--app", app, "--data", directory],
            environment: CurrentEnvironment.variables.filter { !$0.key.hasPrefix("PARTITA_") })
        #expect(run.status == .exited(0), "\(run.output)")
        #expect(run.output.contains("consistent"), "\(run.output)")
    }
}
