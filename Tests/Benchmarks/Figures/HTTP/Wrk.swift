import BenchmarkRunner
import ChildProcesses

/// The load generator wrk: one thread, so that the server has the other core.
enum Wrk {
    struct Load {
        let perSecond: Double
        /// The median of the times from request to answer, in milliseconds.
        let median: Double
    }

    static func requestsPerSecond(_ url: String) async throws -> Double {
        try await load(url, connections: 64).perSecond
    }

    /// - Parameter script: the file that says what is requested; `nil`: a GET.
    static func load(_ url: String, connections: Int, script: String? = nil) async throws -> Load {
        let run = try await CapturedRun.run(
            "wrk", ["-t1", "-c\(connections)", "-d2s", "--latency"] + (script.map { ["-s", $0] } ?? []) + [url])
        guard run.status.isSuccess, !run.output.contains("Non-2xx"), !run.output.contains("Socket errors"),
            let rate = value("Requests/sec:", in: run.output).flatMap({ Double($0) }),
            let median = value("50%", in: run.output).flatMap(milliseconds)
        else { throw BenchmarkError("wrk: \(run.output)") }
        return Load(perSecond: rate, median: median)
    }

    /// What follows a word at the beginning of a line.
    private static func value(_ word: String, in output: String) -> String? {
        output.split(separator: "\n").lazy.map { $0.trimmingPrefix { $0 == " " } }.first { $0.hasPrefix(word) }
            .map { String($0.dropFirst(word.count).trimmingPrefix { $0 == " " }) }
    }

    /// `1.50ms`, `300.00us`, `1.20s`.
    private static func milliseconds(_ text: String) -> Double? {
        for (unit, factor) in [("us", 0.001), ("ms", 1.0), ("s", 1000.0)] where text.hasSuffix(unit) {
            return Double(text.dropLast(unit.count)).map { $0 * factor }
        }
        return nil
    }
}
