import ChildProcesses
import Foundation
import Glibc

/// A device of the run: a process of its own, with a user of its own.
actor ChaosDevice {
    nonisolated let name: String
    nonisolated let teams: [String]
    /// Whether it writes; otherwise it only reads.
    nonisolated let writes: Bool
    nonisolated let files: ChaosDeviceFiles
    private let arguments: [String]
    private var child: ChildProcess?
    private var isEnding = false
    /// How it ended without being killed.
    private(set) var ends: [String] = []

    init(name: String, teams: [String], writes: Bool, stage: ChaosStage) {
        self.name = name
        self.writes = writes
        self.teams = teams
        files = ChaosDeviceFiles(folder: stage.folder(of: name))
        let arguments = [
            "chaos-device", "--name", name, "--folder", files.folder, "--base-url", stage.baseURL, "--sync-url",
            stage.syncURL, "--teams", teams.joined(separator: ","), "--seed", "\(stage.seed)", "--quiet",
            stage.quietFile,
        ]
        self.arguments = arguments + (writes ? [] : ["--reads-only"])
    }

    /// Starts its process, with what it has on its disk.
    func start() throws {
        let child = try ChildProcess.spawn(CurrentEnvironment.sibling("partita"), arguments, output: .file(files.log))
        self.child = child
        isEnding = false
        Task { ended(child, await child.wait()) }  // it ends with the process
    }

    /// Kills its process: what it had only in its memory is lost.
    func kill() async {
        isEnding = true
        child?.signal(SIGKILL)
        _ = await child?.wait()
    }

    /// Kills it, and installs it anew: it begins with nothing, and has to sign in.
    func reinstall(_ stage: ChaosStage) async throws {
        await kill()
        try FileManager.default.removeItem(atPath: files.folder)
        let (app, _) = try await stage.enter(name, isNew: false)
        try await app.close()
        try start()
    }

    private func ended(_ child: ChildProcess, _ status: ChildProcess.ExitStatus) {
        guard child.pid == self.child?.pid, !isEnding else { return }
        let log = (try? String(contentsOfFile: files.log, encoding: .utf8)) ?? ""  // only improves the message
        ends.append("\(name) ended (\(status)): \(log.split(separator: "\n").last ?? "")")
    }

    /// What the device told last: an empty list until it tells something.
    nonisolated func dumps() throws -> [ChaosDump] { try ChaosDump.all(in: files.dump) }
}
