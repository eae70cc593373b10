import ChildProcesses

/// A server that this process starts, monitors and stops: Postgres, Redis or a Kafka broker, in a private data directory and on a
/// private port. It doesn't affect the machine's own servers.
public protocol Engine: Actor {
    /// The engine's name in messages: `postgres`, `redis`, `kafka`.
    nonisolated var name: String { get }
    /// The file that the server's output is appended to.
    nonisolated var logFile: String { get }
    nonisolated var port: Int { get }

    /// Prepares the data directory when it is new, starts the server, and waits until it answers.
    /// - Throws: `EngineError` with the engine, the failure, and the end of its log.
    func start() async throws(EngineError)
    /// Stops the server cleanly.
    func stop() async
    /// Sends a signal to the server's main process, for tests that make it fail.
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
