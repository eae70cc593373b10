import ChildProcesses
import Glibc

/// librdkafka's mock cluster in a process of its own: a broker for development that keeps its events in memory, has no admin API,
/// and loses all data when it ends.
public actor EmbeddedBrokerEngine: Engine {
    public nonisolated let name = "embedded broker"
    public nonisolated let port: Int
    public nonisolated var logFile: String { directory.logFile }
    private let tool: String
    private let directory: EngineDirectory
    private var child: ChildProcess?

    /// - Parameter tool: the path of the executable `partita`, which hosts it.
    public init(tool: String, root: String, port: Int) {
        self.tool = tool
        directory = EngineDirectory(engine: "broker", root: root)
        self.port = port
    }

    public nonisolated var bootstrap: String { "127.0.0.1:\(port)" }

    public func start() async throws(EngineError) {
        try directory.create()
        try await directory.stopLeftover(SIGTERM)
        try LocalPort.requireFree(port, for: name)
        let child = try directory.spawn(tool, ["broker", "--port", "\(port)"], asPresentUser: true)
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
