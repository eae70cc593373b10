import ChildProcesses

/// A server that this process starts, watches and stops: Postgres, Redis or a Kafka broker, in a private data directory and on a
/// private port. Nothing of the machine's own servers is touched.
public protocol Engine: Actor {
    /// What people call it: `postgres`, `redis`, `kafka`.
    nonisolated var name: String { get }
    /// The file that the server's output is appended to.
    nonisolated var logFile: String { get }
    nonisolated var port: Int { get }

    /// Prepares the data directory when it is new, starts the server, and waits until it answers.
    /// - Throws: `EngineError` that names the engine, what failed, and the end of its log.
    func start() async throws(EngineError)
    /// An orderly stop.
    func stop() async
    /// Sends a signal to the server's main process, for tests that break it.
    func signal(_ number: Int32)
    /// Waits for the end of the server's main process.
    func waitForExit() async
}

/// An engine could not be started.
public struct EngineError: Error, Sendable, CustomStringConvertible {
    public let engine: String
    public let message: String

    public init(engine: String, message: String) {
        self.engine = engine
        self.message = message
    }

    public var description: String { "\(engine): \(message)" }
}
