import ChildProcesses
import Foundation
import LocalEngines
import Testing

/// nginx, which runs while a body does.
enum NginxProcess {
    /// - Parameters:
    ///   - file: its configuration.
    ///   - port: where it listens.
    ///   - log: the file for all of its output.
    static func with<Result>(
        _ file: String, port: Int, log: String, directives: String = "daemon off; master_process off;",
        _ body: () async throws -> Result
    ) async throws -> Result {
        // Debian has it where only root looks.
        let nginx = "/usr/sbin/nginx"
        let child = try ChildProcess.spawn(
            FileManager.default.isExecutableFile(atPath: nginx) ? nginx : "nginx",
            ["-c", file, "-e", "stderr", "-g", directives], output: .file(log))
        do {
            try await eventually("nginx listens") { LocalPort.isTaken(port) || child.exitStatus != nil }
            try #require(child.exitStatus == nil, "\((try? String(contentsOfFile: log, encoding: .utf8)) ?? "no log")")
            let result = try await body()
            await child.terminate(grace: .seconds(5))
            return result
        } catch {
            await child.terminate(grace: .seconds(5))
            throw error
        }
    }
}
