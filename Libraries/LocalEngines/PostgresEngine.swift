import ChildProcesses
import Glibc

/// A private Postgres server.
public actor PostgresEngine: Engine {
    public nonisolated let name = "postgres"
    public nonisolated let port: Int
    public nonisolated var logFile: String { directory.logFile }
    private let directory: EngineDirectory
    private let isDurable: Bool
    private let waiting: @Sendable (String) -> Void
    private var child: ChildProcess?
    /// Whether the server has run: a directory that is gone then isn't a new one.
    private var hasRun = false

    /// - Parameters:
    ///   - root: the directory that holds the engines' directories.
    ///   - isDurable: `false` switches fsync off, for tests in which only processes fail, not the machine.
    ///   - waiting: called every ten seconds while the server recovers from a crash, with a text that says so.
    public init(
        root: String, port: Int, isDurable: Bool = true, waiting: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        directory = EngineDirectory(engine: "postgres", root: root)
        self.port = port
        self.isDurable = isDurable
        self.waiting = waiting
    }

    /// The URL of the database `partita`, which the first start creates.
    public nonisolated var url: String { "postgres://partita@127.0.0.1:\(port)/partita" }

    public func start() async throws(EngineError) {
        let binaries = try await programs()
        try directory.create()
        try await directory.stopLeftover(Self.fastShutdown, grace: Self.grace)
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
        try await directory.wait(
            for: child, deadline: .seconds(60), stop: Self.fastShutdown, grace: Self.grace, waiting: waiting
        ) {
            await Self.answer(binaries + "/pg_isready", port)
        }
        do {
            try await makeDatabase(binaries)
        } catch {
            await stop()
            throw error
        }
    }

    private func makeDatabase(_ binaries: String) async throws(EngineError) {
        if await Self.succeeds(
            binaries + "/psql", ["-h", "127.0.0.1", "-p", "\(port)", "-U", "partita", "-d", "partita", "-c", ""])
        {
            return
        }
        try await directory.run(
            binaries + "/createdb", ["-h", "127.0.0.1", "-p", "\(port)", "-U", "partita", "partita"])
    }

    /// The directory of the programs: those of the version that made the data directory, also when a newer one has been installed since.
    private func programs() async throws(EngineError) -> String {
        guard let version = directory.text(of: "data/PG_VERSION") else {
            return try PostgresPrograms.directory(of: "initdb")
        }
        guard version.utf8.count <= 8, version.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2E }) else {
            throw EngineError(
                engine: name,
                message:
                    "\(directory.path)/data/PG_VERSION is damaged: it names no version of Postgres. Put the data directory back from a copy, or restore a backup with another --data"
            )
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
    /// How long the shutdown's checkpoint may take: a server that is killed in it has to recover at its next start.
    private static let grace = Duration.seconds(60)

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

    private static func answer(_ isReady: String, _ port: Int) async -> EngineAnswer {
        // 1: it rejects connections, since it starts or recovers. A shutdown doesn't last: then it ends.
        switch await (try? CapturedRun.run(isReady, ["-q", "-h", "127.0.0.1", "-p", "\(port)"]))?.status {
        case .exited(0)?: .ready
        case .exited(1)?: .busy
        default: .silence
        }
    }

    private static func succeeds(_ executable: String, _ arguments: [String]) async -> Bool {
        await (try? CapturedRun.run(executable, arguments))?.status.isSuccess ?? false
    }
}
