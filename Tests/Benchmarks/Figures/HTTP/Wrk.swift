import BenchmarkRunner
import ChildProcesses

/// The load generator wrk: one thread, so that the server has the other core.
enum Wrk {
    static func requestsPerSecond(_ url: String) async throws -> Double {
        let run = try await CapturedRun.run("wrk", ["-t1", "-c64", "-d2s", url])
        guard run.status.isSuccess, !run.output.contains("Non-2xx"), !run.output.contains("Socket errors"),
            let line = run.output.split(separator: "\n").first(where: { $0.hasPrefix("Requests/sec:") }),
            let rate = Double(line.dropFirst("Requests/sec:".count).trimmingPrefix { $0 == " " })
        else { throw BenchmarkError("wrk: \(run.output)") }
        return rate
    }
}
