import ChildProcesses
import EventLoop
import Foundation
import Glibc
import PartitaClient

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

/// What all parts of a run know.
struct ChaosStage: Sendable {
    let seed: UInt64
    let places: Places
    /// Where devices call the services.
    let baseURL: String
    /// Where devices sync: through the proxy.
    let syncURL: String
    let loop: EventLoop

    /// Everything that belongs to the run, besides the system's own data.
    static func folder(in places: Places) -> String { places.data + "/chaos" }

    func folder(of name: String) -> String { Self.folder(in: places) + "/" + name }

    /// While it exists, devices write nothing.
    var quietFile: String { Self.folder(in: places) + "/quiet" }

    /// Registers a user and signs them in on the device with this name.
    /// - Parameter isNew: otherwise the user is there, and auth may be away for a while.
    func enter(
        _ name: String, isNew: Bool = true, transport: (any SyncTransport)? = nil
    ) async throws -> (app: PartitaApp, session: Session) {
        try FileManager.default.createDirectory(atPath: folder(of: name), withIntermediateDirectories: true)
        let app = try await PartitaApp(
            ChaosDeviceFiles.configuration(
                folder: folder(of: name), baseURL: baseURL, syncURL: syncURL, loop: loop, transport: transport))
        let email = "\(name)@example.com"
        if isNew { try await app.register(email: email, password: DemoPerson.password) }
        let session = try await ChaosPatience.again {
            try await app.logIn(.emailPassword(email: email, password: DemoPerson.password))
        }
        return (app, session)
    }
}
