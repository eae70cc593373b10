import ChildProcesses
import Glibc

/// A private Postgres server.
public actor PostgresEngine: Engine {
    public nonisolated let name = "postgres"
    public nonisolated let port: Int
    public nonisolated var logFile: String { directory.logFile }
    private let directory: EngineDirectory
    private let isDurable: Bool
    private var child: ChildProcess?
    /// Whether the server has run: a directory that is gone then isn't a new one.
    private var hasRun = false

    /// - Parameters:
    ///   - root: the directory that holds the engines' directories.
    ///   - isDurable: `false` switches fsync off, for tests in which only processes fail, not the machine.
    public init(root: String, port: Int, isDurable: Bool = true) {
        directory = EngineDirectory(engine: "postgres", root: root)
        self.port = port
        self.isDurable = isDurable
    }

    /// The URL of the database `partita`, which the first start creates.
    public nonisolated var url: String { "postgres://partita@127.0.0.1:\(port)/partita" }

    public func start() async throws(EngineError) {
        let binaries = try await programs()
        try directory.create()
        try await directory.stopLeftover(Self.fastShutdown)
        try LocalPort.requireFree(port, for: name)
        let isNew = !directory.contains("data/PG_VERSION")
        guard !isNew || !hasRun else {
            throw EngineError(
                engine: name,
                message:
                    "its data directory \(directory.path)/data is gone or empty: put it back, and the server starts")
        }
        if isNew {
            try await makeDirectory(binaries + "/initdb")
        }
        let child = try directory.spawn(
            binaries + "/postgres", ["-D", directory.path + "/data"] + settings, deathSignal: Self.fastShutdown)
        self.child = child
        hasRun = true
        let port = port
        try await directory.wait(for: child, deadline: .seconds(60)) {
            await Self.succeeds(binaries + "/pg_isready", ["-q", "-h", "127.0.0.1", "-p", "\(port)"])
        }
        if !(await Self.succeeds(
            binaries + "/psql", ["-h", "127.0.0.1", "-p", "\(port)", "-U", "partita", "-d", "partita", "-c", ""]))
        {
            try await directory.run(
                binaries + "/createdb", ["-h", "127.0.0.1", "-p", "\(port)", "-U", "partita", "partita"])
        }
    }

    /// The directory of the programs: those of the version that made the data directory, also when a newer one has been installed since.
    private func programs() async throws(EngineError) -> String {
        guard let version = directory.text(of: "data/PG_VERSION") else {
            return try PostgresPrograms.directory(of: "initdb")
        }
        if let folder = await PostgresPrograms.directory(ofServer: version) { return folder }
        throw EngineError(
            engine: name,
            message:
                "its data directory \(directory.path)/data is of Postgres \(version), whose programs aren't installed: install the package postgresql-\(version). To move to another version, make a backup with that one, and restore it in another data directory (`partita backup`, `partita restore`)"
        )
    }

    /// Makes the data directory. It gets its name when it is complete: otherwise one that a kill has left half made would be taken for a
    /// server's.
    private func makeDirectory(_ initdb: String) async throws(EngineError) {
        try directory.remove("data.new")
        try await directory.run(
            initdb, ["-D", directory.path + "/data.new", "-U", "partita", "-A", "trust", "--no-locale", "-E", "UTF8"])
        try directory.rename("data.new", to: "data")
    }

    public func stop() async {
        child?.signal(Self.fastShutdown)
        _ = await child?.wait()
        child = nil
    }

    /// Rolls back open transactions, and doesn't wait for clients.
    private static let fastShutdown = SIGINT

    public func signal(_ number: Int32) { child?.signal(number) }

    public func waitForExit() async { _ = await child?.wait() }

    private var settings: [String] {
        var settings = [
            "listen_addresses=127.0.0.1", "port=\(port)", "unix_socket_directories=", "max_connections=300",
            "shared_buffers=256MB",
            "max_wal_size=2GB", "logging_collector=off",
        ]
        if !isDurable { settings += ["fsync=off", "full_page_writes=off"] }
        return settings.flatMap { ["-c", $0] }
    }

    private static func succeeds(_ executable: String, _ arguments: [String]) async -> Bool {
        await (try? CapturedRun.run(executable, arguments))?.status.isSuccess ?? false
    }
}
