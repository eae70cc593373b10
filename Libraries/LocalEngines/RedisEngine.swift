import ChildProcesses
import Glibc

/// A private Redis server. It stores nothing on the disk: Partita's data in Redis (leases, throttle counters) is rebuilt.
public actor RedisEngine: Engine {
    public nonisolated let name = "redis"
    public nonisolated let port: Int
    public nonisolated var logFile: String { directory.logFile }
    private let directory: EngineDirectory
    private var child: ChildProcess?

    public init(root: String, port: Int) {
        directory = EngineDirectory(engine: "redis", root: root)
        self.port = port
    }

    public nonisolated var url: String { "redis://127.0.0.1:\(port)" }

    public func start() async throws(EngineError) {
        try directory.create()
        try await directory.stopLeftover(SIGTERM)
        try LocalPort.requireFree(port, for: name)
        let child = try directory.spawn(
            "redis-server",
            [
                "--port", "\(port)", "--bind", "127.0.0.1", "--dir", directory.path, "--save", "", "--appendonly", "no",
                // Redis needn't remove expired keys in the background soon: reads don't return them, and deadlines are polled. The
                // default of ten runs a second causes most of the CPU use of an idle server.
                "--daemonize", "no", "--hz", "1",
            ])
        self.child = child
        let port = port
        try await directory.wait(for: child, deadline: .seconds(20)) {
            TCPProbe.accepts(port: port) ? .ready : .silence
        }
    }

    public func stop() async {
        await child?.terminate()
        child = nil
    }

    public func signal(_ number: Int32) { child?.signal(number) }

    public func waitForExit() async { _ = await child?.wait() }
}
