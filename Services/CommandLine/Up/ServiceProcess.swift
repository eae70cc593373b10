import ChildProcesses
import Foundation
import Glibc
import HTTPClient
import LocalEngines

/// One service, or the proxy before them, as a child process, started again when it ends by itself.
actor ServiceProcess {
    nonisolated let name: String
    nonisolated let port: Int
    nonisolated let logFile: String
    private let executable: String
    private let arguments: [String]
    private var environment: [String: String] = [:]
    private let pidFile: String
    private var child: ChildProcess?
    private var watching: Task<Void, Never>?
    private var isStopping = false

    /// - Parameter executable: the one of the service's name by default.
    init(name: String, port: Int, places: Places, executable: String? = nil, arguments: [String] = []) {
        self.name = name
        self.executable = executable ?? CurrentEnvironment.sibling(name)
        self.arguments = arguments
        self.port = port
        logFile = places.logs + "/\(name).log"
        pidFile = places.run + "/\(name).pid"
    }

    nonisolated var url: String { "http://127.0.0.1:\(port)" }

    /// - Throws: `ChildProcessError` when the executable can't be started.
    func start(environment: [String: String]) throws {
        self.environment = environment.merging(["PARTITA_HTTP_PORT": "\(port)"]) { $1 }
        let child = try spawn()
        self.child = child
        watching = Task { await watch(child) }  // owned by this actor, ended by `stop`
    }

    /// Waits until the service says that it is ready.
    /// - Returns: what it does without, when it still does so after some seconds.
    /// - Throws: `EngineError` with what it misses, or the end of its log, after a minute.
    func waitUntilReady(_ http: HTTPClient) async throws -> String? {
        let start = ContinuousClock.now
        let end = start + .seconds(60)
        var last = "no answer"
        while ContinuousClock.now < end {
            do {
                let response = try await http.send(
                    .init(method: "GET", url: url + "/health/ready", timeout: .seconds(5)))
                let missing = Self.missing(response.body)
                if response.status == 200 {
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

    /// The parts of the service that aren't ready, with their reasons; `nil` when the answer has another form.
    private static func missing(_ answer: [UInt8]) -> String? {
        guard let readiness = try? JSONDecoder().decode(Readiness.self, from: Data(answer)) else { return nil }
        return readiness.components.filter { $0.value.status != "ready" }.sorted { $0.key < $1.key }
            .map { "\($0.key) (\($0.value.reason ?? $0.value.status))" }.joined(separator: ", ")
    }

    func stop() async {
        isStopping = true
        watching?.cancel()
        await child?.terminate(grace: .seconds(15))
        await watching?.value
    }

    private func spawn() throws -> ChildProcess {
        let child = try ChildProcess.spawn(
            executable, arguments,
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
