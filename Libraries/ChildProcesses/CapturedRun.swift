import Foundation

/// A program that ran to its end, with its output.
public struct CapturedRun: Sendable {
    public let status: ChildProcess.ExitStatus
    /// Standard output and standard error, in the order of writing.
    public let output: String

    /// Runs a program to its end and captures its output. It is meant for short outputs, which are held in memory.
    /// - Throws: `ChildProcessError` when it can't be started.
    public static func run(
        _ executable: String, _ arguments: [String] = [], environment: [String: String]? = nil,
        workingDirectory: String? = nil, account: ChildProcess.Account? = nil
    ) async throws -> CapturedRun {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("run-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: file) }  // nothing depends on the removal
        let child = try ChildProcess.spawn(
            executable, arguments, environment: environment, workingDirectory: workingDirectory, output: .file(file),
            account: account)
        let status = await child.wait()
        let output = String(decoding: FileManager.default.contents(atPath: file) ?? Data(), as: UTF8.self)
        return CapturedRun(status: status, output: output)
    }
}
