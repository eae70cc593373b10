import ChildProcesses
import EventLoop
import Foundation
import Glibc
import HTTPClient
import LocalEngines
import ServiceBootstrap

/// One service, or the proxy in front of them, as a child process that is started again when it ends by itself.
actor ServiceProcess {
    nonisolated let name: String
    nonisolated let port: Int
    nonisolated let logFile: String
    private let executable: String
    private let arguments: [String]
    private var environment: [String: String] = [:]
    private let pidFile: String
    private let ended: Ended?
    /// What the process said as it refused its settings before it was ever ready: it would do so again.
    private let refusal = Locked<String?>(nil)
    private let hasBeenReady = Locked(false)
    private var supervisor: Supervisor?

    /// Called when the process has ended by itself, with its name and, unless it was killed, the last line of its log.
    typealias Ended = @Sendable (_ name: String, _ status: ChildProcess.ExitStatus, _ reason: String?) -> Void

    /// - Parameter executable: by default the one with the service's name.
    init(
        name: String, port: Int, places: Places, executable: String? = nil, arguments: [String] = [],
        ended: Ended? = nil
    ) {
        self.name = name
        self.ended = ended
        self.executable = executable ?? CurrentEnvironment.sibling(name)
        self.arguments = arguments
        self.port = port
        logFile = places.logs + "/\(name).log"
        pidFile = places.run + "/\(name).pid"
    }

    nonisolated var url: String { "http://127.0.0.1:\(port)" }

    /// - Throws: `ChildProcessError` when the executable can't be started.
    func start(environment: [String: String]) async throws {
        refusal.withLock { $0 = nil }
        self.environment = environment.merging(["PARTITA_HTTP_PORT": "\(port)"]) { $1 }
        let (name, logFile) = (name, logFile)
        let supervisor = Supervisor(
            spawn: { [executable, arguments, pidFile, environment = self.environment] crashes in
                let own = environment.merging(["PARTITA_PROCESS_CRASHES": "\(crashes)"]) { $1 }
                // `up` passes values that it has read from files as variables; setting both is an error.
                let files = Set(own.keys.map { SecretFile.variable(of: $0) })
                let inherited = CurrentEnvironment.variables.filter { !files.contains($0.key) }
                let child = try ChildProcess.spawn(
                    executable, arguments, environment: inherited.merging(own) { $1 }, output: .file(logFile))
                // It runs, and is supervised, also where its number can't be written, on a full disk.
                do { try "\(child.pid)\n".write(toFile: pidFile, atomically: true, encoding: .utf8) } catch {
                    unlink(pidFile)
                    Progress.line("\(name) runs as \(child.pid), which can't be written to \(pidFile): \(error)")
                }
                return child
            },
            decide: { [ended, refusal, hasBeenReady] status in
                // A service that refuses to start logs the reason in its last line.
                let last = if case .exited = status { Self.lastLine(of: logFile) } else { nil as String? }
                let why = last.map { ": \($0)" } ?? ""
                ended?(name, status, last)
                if status == .exited(StartFailure.Status.configuration.rawValue), !hasBeenReady.withLock({ $0 }) {
                    refusal.withLock { $0 = last ?? "it refuses its settings" }
                    return .end
                }
                Progress.line("\(name) ended (\(status))\(why); starting it again. Its log: \(logFile)")
                return .startAgain
            })
        try await supervisor.start()
        self.supervisor = supervisor
    }

    private static func lastLine(of file: String) -> String? {
        guard let handle = FileHandle(forReadingAtPath: file) else { return nil }
        defer { try? handle.close() }
        let size = (try? handle.seekToEnd()) ?? 0
        guard (try? handle.seek(toOffset: size - min(size, 4096))) != nil, let end = try? handle.readToEnd() else {
            return nil
        }
        return String(decoding: end, as: UTF8.self).split(separator: "\n").last.map(String.init)
    }

    /// Waits until the service reports that it is ready.
    /// - Returns: the optional components that are still not ready after some seconds; `nil` when all are.
    /// - Throws: `EngineError` with the components that aren't ready after a minute, or the last answer; at once where it refuses its
    ///   settings.
    func waitUntilReady(_ http: HTTPClient) async throws -> String? {
        let start = ContinuousClock.now
        let end = start + .seconds(60)
        var last = "no answer"
        while ContinuousClock.now < end {
            if let refusal = refusal.withLock({ $0 }) {
                throw EngineError(engine: name, message: "\(refusal). Its log: \(logFile)")
            }
            do {
                let response = try await http.send(
                    .init(method: "GET", url: url + "/health/ready", timeout: .seconds(5)))
                let missing = Self.missing(response.body)
                if response.status == 200 {
                    hasBeenReady.withLock { $0 = true }
                    guard let missing, !missing.isEmpty else { return nil }
                    if ContinuousClock.now > start + .seconds(3) { return missing }
                }
                last = missing ?? response.text
            } catch {
                last = "\(error)"
            }
            try await Task.sleep(for: .milliseconds(50))  // readiness has no event to wait for
        }
        throw EngineError(engine: name, message: "isn't ready after a minute: \(last). Its log: \(logFile)")
    }

    private struct Readiness: Decodable {
        struct Component: Decodable {
            let status: String
            let reason: String?
        }
        let components: [String: Component]
    }

    /// The components of the service that aren't ready, with their reasons; `nil` when the answer has another form.
    private static func missing(_ answer: [UInt8]) -> String? {
        guard let readiness = try? JSONDecoder().decode(Readiness.self, from: Data(answer)) else { return nil }
        return readiness.components.filter { $0.value.status != "ready" }.sorted { $0.key < $1.key }
            .map { "\($0.key) (\($0.value.reason ?? $0.value.status))" }.joined(separator: ", ")
    }

    /// Sends the process a signal.
    /// - Returns: whether it runs.
    func signal(_ number: Int32) async -> Bool { await supervisor?.signal(number) ?? false }

    func stop() async {
        await supervisor?.stop(grace: .seconds(15))
        unlink(pidFile)  // it doesn't exist when the service wasn't started
    }
}
