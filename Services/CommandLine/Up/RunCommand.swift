import ChildProcesses
import Glibc
import Lifecycle
import ServiceBootstrap

/// `partita run SERVICE`: one service under a supervisor, as containers start it.
enum RunCommand {
    static let command = Command(
        name: "run", summary: "Run one service, and start it again within a second when it crashes",
        parameters: ["service"],
        options: [.init("grace", value: "SECONDS", "how long it may take to end after SIGTERM (default: 30)")]
    ) { arguments in
        let service = arguments.parameter("service") ?? ""
        guard LocalSystem.serviceNames.contains(service) else {
            throw UsageError("no service \(service); there are: \(LocalSystem.serviceNames.joined(separator: ", "))")
        }
        let grace = try arguments.int("grace", in: 1...3600) ?? 30
        let signals = StopSignals()
        let supervisor = Supervisor(
            spawn: { crashes in
                try ChildProcess.spawn(
                    CurrentEnvironment.sibling(service),
                    environment: CurrentEnvironment.variables.merging(["PARTITA_PROCESS_CRASHES": "\(crashes)"]) { $1 },
                    deathSignal: SIGTERM)
            },
            decide: { status in
                switch status {
                case .signaled(let number):
                    Progress.line("\(service) was killed by signal \(number); starting it again")
                    return .startAgain
                case .exited(StartFailure.Status.again.rawValue): return .startAgain  // it has said why
                case .exited: return .end
                }
            })
        try await supervisor.start()
        let stopping = Task {  // it ends with the process, if no signal comes
            await signals.wait()
            return await supervisor.stop(grace: .seconds(grace))
        }
        var status = await supervisor.end()
        if status == nil { status = await stopping.value }
        // The exit status is the service's, as if there were no supervisor; statuses such as 137 report a signal, as in a shell.
        switch status {
        case .exited(let code): ProcessExit.now(code)
        case .signaled(let number): ProcessExit.now(128 + number)
        case nil: throw ToolError("\(service) can't be started")
        }
    }
}
