import ChildProcesses
import Foundation
import Glibc

/// One service as a child process, started again when it ends by itself.
actor ServiceProcess {
    nonisolated let name: String
    nonisolated let port: Int
    nonisolated let logFile: String
    private let environment: [String: String]
    private let configFile: String
    private let pidFile: String
    private var child: ChildProcess?
    private var watching: Task<Void, Never>?
    private var isStopping = false

    init(name: String, port: Int, places: Places, environment: [String: String]) {
        self.name = name
        self.port = port
        logFile = places.logs + "/\(name).log"
        configFile = places.configFile
        pidFile = places.run + "/\(name).pid"
        self.environment = environment.merging(["PARTITA_HTTP_PORT": "\(port)"]) { given, _ in given }
    }

    nonisolated var url: String { "http://127.0.0.1:\(port)" }

    /// - Throws: `ChildProcessError` when the executable can't be started.
    func start() throws {
        let child = try spawn()
        self.child = child
        watching = Task { await watch(child) }  // owned by this actor, ended by `stop`
    }

    func stop() async {
        isStopping = true
        watching?.cancel()
        await child?.terminate(grace: .seconds(15))
        await watching?.value
    }

    private func spawn() throws -> ChildProcess {
        let child = try ChildProcess.spawn(
            CurrentEnvironment.sibling(name), ["--config", configFile],
            environment: CurrentEnvironment.variables.merging(environment) { _, own in own }, output: .file(logFile))
        try "\(child.pid)\n".write(toFile: pidFile, atomically: true, encoding: .utf8)
        return child
    }

    /// Starts it again at growing intervals, which a run of a minute resets.
    private func watch(_ first: ChildProcess) async {
        var current = first
        var pause = Duration.milliseconds(200)
        while true {
            let started = ContinuousClock.now
            let status = await current.wait()
            if isStopping { return }
            if ContinuousClock.now - started > .seconds(60) { pause = .milliseconds(200) }
            Progress.line("\(name) ended (\(status)); starting it again. Its log: \(logFile)")
            do {
                try await Task.sleep(for: pause)
                if isStopping { return }
                current = try spawn()
                child = current
            } catch is CancellationError {
                return
            } catch {
                return Progress.line("\(name) can't be started again: \(error)")
            }
            pause = min(pause * 2, .seconds(10))
        }
    }
}
