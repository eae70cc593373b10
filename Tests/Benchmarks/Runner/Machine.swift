import ChildProcesses
import Foundation
import Glibc
import LocalEngines

/// What benchmarks need beside themselves, started once when it is first asked for: the engines that no `PARTITA_…` variable names,
/// durable as in production, in a temporary directory that is removed at the end.
public actor Machine {
    /// A Kafka broker.
    public struct Broker: Sendable {
        public let bootstrap: String
        /// The embedded development broker: in memory, and slower to wake its readers than a real one.
        public let isEmbedded: Bool
    }

    private let progress: @Sendable (String) -> Void
    private var root: String?
    private var postgresURL: String?
    private var redisURL: String?
    private var broker: Broker?
    /// What `stop` undoes, last first.
    private var undoing: [@Sendable () async -> Void] = []

    init(progress: @escaping @Sendable (String) -> Void) { self.progress = progress }

    /// A directory for whatever a benchmark needs, readable by engines that run as another user.
    public func directory() throws -> String {
        if let root { return root }
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("partita-bench-\(getpid())").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        chmod(path, 0o755)
        root = path
        return path
    }

    /// The URL of a fresh, empty database on a Postgres that syncs to its disk.
    public func database(_ name: String) async throws -> String {
        let server = try await postgres()
        for sql in ["drop database if exists \(name) with (force)", "create database \(name)"] {
            let run = try await CapturedRun.run("psql", [server, "-q", "-c", sql])
            guard run.status.isSuccess else { throw BenchmarkError("psql: \(run.output)") }
        }
        guard var url = URLComponents(string: server) else { throw BenchmarkError("bad URL \(server)") }
        url.path = "/" + name
        return url.string ?? server
    }

    /// The URL of a Postgres server that syncs to its disk.
    public func postgres() async throws -> String {
        if let postgresURL { return postgresURL }
        let url: String
        if let given = CurrentEnvironment.variables["PARTITA_POSTGRES_URL"] {
            url = given
            try await checkDurability(url)
        } else {
            let engine = PostgresEngine(root: try directory(), port: try LocalPort.free())
            try await start(engine)
            url = engine.url
        }
        postgresURL = url
        return url
    }

    /// The URL of a Redis.
    public func redis() async throws -> String {
        if let redisURL { return redisURL }
        let url: String
        if let given = CurrentEnvironment.variables["PARTITA_REDIS_URL"] {
            url = given
        } else {
            let engine = RedisEngine(root: try directory(), port: try LocalPort.free())
            try await start(engine)
            url = engine.url
        }
        redisURL = url
        return url
    }

    /// A broker: Apache Kafka where `KAFKA_HOME` names one, else the embedded development broker.
    public func kafka() async throws -> Broker {
        if let broker { return broker }
        let variables = CurrentEnvironment.variables
        let made: Broker
        if let given = variables["PARTITA_KAFKA_BOOTSTRAP"] {
            made = Broker(bootstrap: given, isEmbedded: variables["PARTITA_KAFKA_EMBEDDED"] == "true")
        } else if let home = variables["KAFKA_HOME"], !home.isEmpty {
            let engine = KafkaEngine(
                home: home, root: try directory(), port: try LocalPort.free(), controllerPort: try LocalPort.free())
            try await start(engine)
            made = Broker(bootstrap: engine.bootstrap, isEmbedded: false)
        } else {
            let engine = EmbeddedBrokerEngine(
                tool: CurrentEnvironment.sibling("partita"), root: try directory(), port: try LocalPort.free())
            try await start(engine)
            made = Broker(bootstrap: engine.bootstrap, isEmbedded: true)
        }
        broker = made
        return made
    }

    /// Has something undone at the end, before what was there earlier.
    public func atEnd(_ undo: @escaping @Sendable () async -> Void) { undoing.append(undo) }

    func stop() async {
        while let undo = undoing.popLast() { await undo() }
        // A temporary directory: nothing depends on the removal.
        if let root { try? FileManager.default.removeItem(atPath: root) }
        root = nil
    }

    private func start(_ engine: any Engine) async throws {
        progress("starting \(engine.name) on port \(engine.port)")
        atEnd { await engine.stop() }
        try await engine.start()
    }

    private func checkDurability(_ url: String) async throws {
        let run = try await CapturedRun.run("psql", [url, "-qAt", "-c", "show fsync"])
        guard run.status.isSuccess else { throw BenchmarkError("psql: \(run.output)") }
        if run.output.trimmingCharacters(in: .whitespacesAndNewlines) != "on" {
            progress("warning: Postgres at \(url) runs with fsync=off, so no figure with a commit in it is durable")
        }
    }
}
