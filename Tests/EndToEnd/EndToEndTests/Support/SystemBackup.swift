import ChildProcesses
import Foundation
import TestSupport

/// The documented commands that save and restore a system.
enum SystemBackup {
    /// Runs the line of `Deploy/README.md` that begins with this text, with the test's backup directory.
    static func run(_ beginning: String, _ directory: String, _ system: RunningSystem) async throws {
        let readme = try String(contentsOfFile: TestApp.rchat + "/../../README.md", encoding: .utf8)
        let lines = readme.split(separator: "\n").filter { $0.hasPrefix(beginning + " ") }
        guard let line = lines.first, lines.count == 1, let place = line.split(separator: " ").dropFirst(2).first
        else {
            throw SystemFailure(description: "Deploy/README.md doesn't say `\(beginning) DIRECTORY` once: \(lines)")
        }
        try FileManager.default.createDirectory(
            atPath: (directory as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        let command = line.replacing(place, with: directory)
        let run = try await CapturedRun.run("/bin/sh", ["-c", String(command)], environment: environment(system))
        guard run.status.isSuccess else { throw SystemFailure(description: "\(command): \(run.output)") }
    }

    /// The environment in which the tool finds the system.
    static func environment(_ system: RunningSystem) -> [String: String] {
        var environment = CurrentEnvironment.variables.filter { !$0.key.hasPrefix("PARTITA_") }
        environment["PARTITA_DATA"] = system.directory
        let tools = (CurrentEnvironment.sibling("partita") as NSString).deletingLastPathComponent
        environment["PATH"] = tools + ":" + (environment["PATH"] ?? "/usr/bin:/bin")
        return environment
    }
}
