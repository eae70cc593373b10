import ChildProcesses
import Foundation

/// App folders.
enum TestApp {
    /// The app that comes with Partita.
    static let rchat =
        URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../../../Deploy/apps/rchat").standardizedFileURL.path

    /// A copy with one file changed.
    /// - Parameter change: gets the file's text and returns the new one.
    static func broken(_ file: String, in system: RunningSystem, _ change: (String) -> String) throws -> String {
        let copy = system.directory + "/broken-" + UUID().uuidString.prefix(8).lowercased()
        try FileManager.default.copyItem(atPath: rchat, toPath: copy)
        let text = change(try String(contentsOfFile: "\(copy)/\(file)", encoding: .utf8))
        try text.write(toFile: "\(copy)/\(file)", atomically: true, encoding: .utf8)
        return copy
    }

    /// Deploys an app of these files.
    /// - Returns: what the tool printed.
    static func deploy(
        _ name: String, _ files: [String: String], on system: RunningSystem, _ options: [String] = []
    ) async throws -> String {
        let folder = try write(name, files, on: system)
        let run = try await CapturedRun.run(
            CurrentEnvironment.sibling("partita"), ["app", "deploy", folder, "--data", system.directory] + options)
        guard run.status.isSuccess else { throw SystemFailure(description: run.output) }
        return run.output
    }

    /// Writes an app's files.
    /// - Returns: their folder.
    static func write(_ name: String, _ files: [String: String], on system: RunningSystem) throws -> String {
        let folder = "\(system.directory)/\(name)"
        for (file, text) in files {
            let url = URL(fileURLWithPath: "\(folder)/\(file)")
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try text.write(to: url, atomically: true, encoding: .utf8)
        }
        return folder
    }
}
