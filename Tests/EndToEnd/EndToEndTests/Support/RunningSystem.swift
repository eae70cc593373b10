import ChildProcesses
import EventLoop
import Foundation
import HTTPClient
import LocalEngines
import Postgres
import TestSupport

/// The whole system as processes, started once by `partita up` for all tests of this process.
final class RunningSystem: Sendable {
    static let services = ["auth", "permissions", "sync-gateway", "trigger-workers", "media-offload"]
    /// As `up` sets it: short enough to wait for, long enough for a service to restart.
    static let presenceTTL = Duration.seconds(6)

    /// Opens the administrator's API.
    static let adminToken = "admin-token-of-the-tests"

    let directory: String
    /// `partita up` itself.
    let up: ChildProcess
    let loop = EventLoop(name: "end-to-end")
    let basePort: Int
    private let http: HTTPClient

    private init(directory: String, basePort: Int, up: ChildProcess) {
        self.directory = directory
        self.up = up
        self.basePort = basePort
        http = HTTPClient(loop: loop)
    }

    // MARK: Start

    /// The system, which the first call starts.
    static func shared() async throws -> RunningSystem { try await starter.system() }

    /// The system, if a test has requested it and it started.
    static func started() async -> RunningSystem? { await starter.startedSystem() }

    private static let starter = Starter()

    private actor Starter {
        private var started: Task<RunningSystem, any Error>?

        func system() async throws -> RunningSystem {
            let task = started ?? Task { try await RunningSystem.start("partita-e2e-\(getpid())") }
            started = task
            return try await task.value
        }

        func startedSystem() async -> RunningSystem? { try? await started?.value }
    }

    /// Starts a system in a temporary directory of this name, on ports of its own.
    /// - Parameters:
    ///   - arguments: more words for `up`.
    ///   - basePort: the first port; `nil` finds one.
    ///   - isEmbedded: with the embedded broker, also where there is a real one.
    static func start(
        _ name: String, _ arguments: [String] = [], basePort: Int? = nil, isEmbedded: Bool = false
    ) async throws -> RunningSystem {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(name).path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        chmod(directory, 0o755)  // engines may run as another user
        unlink(directory + "/run/ready")  // left by a system that was killed
        let basePort = try basePort ?? freePorts()
        let up = try ChildProcess.spawn(
            CurrentEnvironment.sibling("partita"),
            ["up", "--data", directory, "--port", "\(basePort)", "--app", TestApp.rchat, "--proxy", proxyTemplate]
                + arguments,
            environment: environment.filter { !isEmbedded || $0.key != "KAFKA_HOME" },
            output: .file(directory + "/up.log"))
        SystemAtExit.remember(up, directory: directory)
        let system = RunningSystem(directory: directory, basePort: basePort, up: up)
        do {
            try await eventually("the system is up", within: .seconds(120), every: .milliseconds(50)) {
                if let status = up.exitStatus { throw SystemFailure(description: "`partita up` ended: \(status)") }
                return FileManager.default.fileExists(atPath: directory + "/run/ready")
            }
        } catch {
            throw SystemFailure(description: "\(error)\n\(system.logEnds())")
        }
        return system
    }

    static let proxyTemplate = TestApp.rchat + "/../../proxy.conf.template"

    /// Engines that the environment names are shared with other tests, and must not be killed.
    private static var environment: [String: String] {
        let own = [
            "PARTITA_PRESENCE_TTL": "\(presenceTTL.components.seconds)s", "PARTITA_ADMIN_TOKEN": adminToken,
            "PARTITA_EGRESS_ALLOW": "localhost",  // where tests answer as other vendors
        ]
        return CurrentEnvironment.variables.filter { !$0.key.hasPrefix("PARTITA_") }.merging(own) { $1 }
    }

    /// The first of fifteen ports for one system: its services, nginx, and its engines.
    static func freePorts() throws -> Int { try LocalPort.free(15) }

    // MARK: Addresses

    func port(of service: String) -> Int { basePort + (Self.services.firstIndex(of: service) ?? 0) }

    /// The one address of all services.
    var publicURL: String { "http://127.0.0.1:\(basePort + Self.services.count)" }

    func url(of service: String) -> String { "http://127.0.0.1:\(port(of: service))" }

    var syncURL: String { "ws://127.0.0.1:\(port(of: "sync-gateway"))/v1/apps/rchat/sync" }

    /// The configuration that `up` gives the services.
    func setting(_ key: String) throws -> String {
        let text = try String(contentsOfFile: directory + "/partita.conf", encoding: .utf8)
        for line in text.split(separator: "\n") where line.hasPrefix(key + " = ") {
            return String(line.dropFirst(key.count + 3))
        }
        throw SystemFailure(description: "partita.conf has no \(key)")
    }

    // MARK: Processes

    /// Every process of the system by its name, `up` excepted.
    var processes: [String: pid_t] {
        get throws {
            let engines = try FileManager.default.contentsOfDirectory(atPath: directory + "/engines")
            return Dictionary(uniqueKeysWithValues: try (Self.services + engines).map { ($0, try pid(of: $0)) })
        }
    }

    /// The process of a service (`sync-gateway`) or an engine (`postgres`, `redis`, `kafka`).
    func pid(of name: String) throws -> pid_t {
        let file = Self.services.contains(name) ? "\(directory)/run/\(name).pid" : "\(directory)/engines/\(name)/pid"
        let text = try String(contentsOfFile: file, encoding: .utf8)
        guard let pid = pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines)) else {
            throw SystemFailure(description: "\(file) has no number")
        }
        return pid
    }

    func kill(_ name: String, _ signal: Int32 = SIGKILL) throws {
        guard Glibc.kill(try pid(of: name), signal) == 0 else {
            throw SystemFailure(description: "\(name) can't be killed: \(String(cString: strerror(errno)))")
        }
    }

    /// Kills a process, and waits until another one has taken its place and everything is ready again.
    func replace(_ name: String, _ signal: Int32 = SIGKILL) async throws {
        let old = try pid(of: name)
        try kill(name, signal)
        try await waitUntilReplaced(name, old)
    }

    func waitUntilReplaced(_ name: String, _ old: pid_t) async throws {
        try await eventually("\(name) is started again\n\(logEnds())", within: .seconds(60)) {
            try pid(of: name) != old
        }
        try await waitUntilReady()
    }

    /// Waits until every service says that it is ready.
    func waitUntilReady() async throws {
        for service in Self.services { try await waitUntilReady(url(of: service)) }
    }

    func waitUntilReady(_ url: String) async throws {
        var last = ""
        do {
            try await eventually("\(url) is ready", within: .seconds(60), every: .milliseconds(50)) {
                let (status, text) = await readiness(url)
                last = text
                return status == 200
            }
        } catch {
            throw SystemFailure(description: "\(error); it says: \(last)\n\(logEnds())")
        }
    }

    /// The status of a service's readiness; 0 when it doesn't answer.
    func readiness(_ url: String) async -> (status: Int, text: String) {
        do {
            let response = try await http.send(.init(method: "GET", url: url + "/health/ready", timeout: .seconds(5)))
            return (response.status, response.text)
        } catch {
            return (0, "\(error)")
        }
    }

    // MARK: Postgres

    /// The result of a query, on a connection of its own: Postgres may have been killed since the last one.
    func query(_ sql: String, _ parameters: [PostgresValue] = []) async throws -> PostgresRows {
        var settings = PostgresConfiguration(url: try setting("postgres.url"))
        settings.connections = 1
        return try await PostgresClient.withClient(settings, on: Self.loops) { try await $0.query(sql, parameters) }
    }

    static let loops = LoopGroup(1)

    // MARK: Logs

    /// The last lines of every log.
    func logEnds(lines: Int = 8) -> String {
        // Those first that most tests wait for: a long report is cut.
        let first = ["sync-gateway", "trigger-workers"]
        let services = first + Self.services.filter { !first.contains($0) }
        let files = services.map { "logs/\($0).log" } + ["up.log"]
        return files.map { file in
            // A service that wasn't started has none.
            let text = (try? String(contentsOfFile: "\(directory)/\(file)", encoding: .utf8)) ?? "(none)"
            // A broker that was killed is said by librdkafka many times.
            let said = text.split(separator: "\n").filter { !$0.contains("\"message\":\"librdkafka\"") }
            return "— \(file)\n" + said.suffix(lines).joined(separator: "\n")
        }.joined(separator: "\n")
    }
}

/// The system isn't as it should be.
struct SystemFailure: Error, CustomStringConvertible { let description: String }
