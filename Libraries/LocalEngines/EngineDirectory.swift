import ChildProcesses
import Foundation
import Glibc

/// The data directory of one engine, the account that it runs as, and the start of its process.
struct EngineDirectory: Sendable {
    let engine: String
    let path: String
    let logFile: String
    var user: EngineUser

    init(engine: String, root: String) {
        self.engine = engine
        path = root + "/" + engine
        logFile = path + "/" + engine + ".log"
        user = EngineUser.preferred
    }

    /// Creates the directory, owned by the engines' user.
    func create() throws(EngineError) {
        do {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        } catch {
            throw EngineError(engine: engine, message: "can't create \(path): \(error.localizedDescription)")
        }
        if let owner = user.account { chown(path, owner.user, owner.group) }
        chmod(path, 0o700)
        // This process opens it for the child, so it must be writable by this process, and readable by users.
        close(open(logFile, O_CREAT | O_WRONLY | O_CLOEXEC, 0o644))
    }

    /// Starts the server as the engines' user, with its output in the log file.
    /// - Parameters:
    ///   - asPresentUser: whether to run as the present user, for programs that the engines' user may not be able to read.
    ///   - deathSignal: the signal that it gets when this process has been killed.
    func spawn(
        _ executable: String, _ arguments: [String], environment: [String: String] = [:], asPresentUser: Bool = false,
        deathSignal: Int32 = SIGKILL
    ) throws(EngineError) -> ChildProcess {
        let child: ChildProcess
        do {
            child = try ChildProcess.spawn(
                executable, arguments,
                environment: CurrentEnvironment.variables.merging(environment) { _, new in new },
                workingDirectory: path, output: .file(logFile), account: asPresentUser ? nil : user.account,
                deathSignal: deathSignal)
        } catch {
            throw EngineError(engine: engine, message: "\(error)")
        }
        try write("\(child.pid)\n", to: "pid")
        return child
    }

    /// Stops a server that is left over from a killed run, since only one server can use the data.
    ///
    /// The server is identified by its working directory, so that an unrelated process that has reused its pid isn't stopped.
    /// - Parameter grace: how long it may take until it is killed.
    func stopLeftover(_ signal: Int32, grace: Duration = .seconds(20)) async throws(EngineError) {
        guard let pid = text(of: "pid").flatMap({ pid_t($0) }) else { return }
        let end = ContinuousClock.now + grace
        while let place = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/cwd"),
            place.hasPrefix(path)
        {
            kill(pid, ContinuousClock.now > end ? SIGKILL : signal)
            // It isn't a child of this process, so its end has to be polled.
            try? await Task.sleep(for: .milliseconds(200))
        }
    }

    /// Runs a program of the engine to its end.
    func run(
        _ executable: String, _ arguments: [String], environment: [String: String] = [:]
    ) async throws(EngineError) {
        let run: CapturedRun
        do {
            run = try await CapturedRun.run(
                executable, arguments,
                environment: CurrentEnvironment.variables.merging(environment) { _, new in new },
                workingDirectory: path, account: user.account)
        } catch {
            throw EngineError(engine: engine, message: "\(error)")
        }
        guard run.status.isSuccess else {
            throw EngineError(
                engine: engine, message: "\(executable) failed (\(run.status)): \(run.output.suffix(2000))")
        }
    }

    func write(_ text: String, to name: String) throws(EngineError) {
        let file = path + "/" + name
        do {
            try text.write(toFile: file, atomically: true, encoding: .utf8)
        } catch {
            throw EngineError(engine: engine, message: "can't write \(file): \(error.localizedDescription)")
        }
        if let owner = user.account { chown(file, owner.user, owner.group) }
    }

    func remove(_ name: String) throws(EngineError) {
        guard contains(name) else { return }
        do {
            try FileManager.default.removeItem(atPath: path + "/" + name)
        } catch {
            throw EngineError(engine: engine, message: "can't remove \(path)/\(name): \(error.localizedDescription)")
        }
    }

    func rename(_ name: String, to newName: String) throws(EngineError) {
        guard Glibc.rename(path + "/" + name, path + "/" + newName) == 0 else {
            throw EngineError(
                engine: engine,
                message: "can't rename \(path)/\(name) to \(newName): \(String(cString: strerror(errno)))")
        }
    }

    func contains(_ name: String) -> Bool { FileManager.default.fileExists(atPath: path + "/" + name) }

    /// The text of a file, without line breaks around it; `nil` if it has none.
    func text(of name: String) -> String? {
        guard let data = FileManager.default.contents(atPath: path + "/" + name) else { return nil }
        let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        return text.isEmpty ? nil : text
    }

    /// Waits until the server is ready. If it ends before, doesn't answer for `deadline`, or the task is cancelled, it is stopped in
    /// order, since nobody else knows of it then.
    /// - Parameters:
    ///   - stop: the signal that stops it in order.
    ///   - grace: how long it may take then until it is killed.
    ///   - interval: how often `waiting` is called while the server answers that it isn't ready, which it may do for hours.
    func wait(
        for child: ChildProcess, deadline: Duration, stop: Int32 = SIGTERM, grace: Duration = .seconds(20),
        interval: Duration = .seconds(10), waiting: @Sendable (String) -> Void = { _ in },
        until answer: @Sendable () async -> EngineAnswer
    ) async throws(EngineError) {
        do {
            try await waitUntilReady(child, deadline, interval, waiting, answer)
        } catch {
            child.signal(stop)
            let killer = Task {
                try await Task.sleep(for: grace)
                child.signal(SIGKILL)
            }
            _ = await child.wait()
            killer.cancel()
            throw error
        }
    }

    private func waitUntilReady(
        _ child: ChildProcess, _ deadline: Duration, _ interval: Duration, _ waiting: @Sendable (String) -> Void,
        _ answer: @Sendable () async -> EngineAnswer
    ) async throws(EngineError) {
        let start = ContinuousClock.now
        var end = start + deadline, told = start
        while true {
            let present = await answer()
            if present == .ready { return }
            if let status = child.exitStatus {
                throw EngineError(
                    engine: engine, message: "ended at its start (\(status)); the end of \(logFile):\n\(logTail())")
            }
            if Task.isCancelled { throw EngineError(engine: engine, message: "its start was interrupted") }
            let now = ContinuousClock.now
            if present == .busy {
                end = now + deadline
                if now - told >= interval {
                    told = now
                    waiting(
                        "\(engine) isn't ready after \((now - start).components.seconds) s, but at work: \(logFile) says at what"
                    )
                }
            } else if now > end {
                throw EngineError(
                    engine: engine, message: "does not answer after \(deadline); the end of \(logFile):\n\(logTail())")
            }
            // No event signals that an engine is ready, so it is polled.
            try? await Task.sleep(for: .milliseconds(50))
        }
    }

    private func logTail() -> String {
        let text = String(decoding: FileManager.default.contents(atPath: logFile) ?? Data(), as: UTF8.self)
        return text.split(separator: "\n").suffix(12).joined(separator: "\n")
    }
}
