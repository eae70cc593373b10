public import EventLoop
public import Lifecycle
public import Logging

/// Listens to channels on a connection of its own.
public final class PostgresListener: Service {
    /// An event for the reader of the channels.
    public enum Event: Sendable, Hashable {
        case notification(PostgresNotification)
        /// Listening has started or was restarted, or the buffer overflowed: notifications before this may be missing.
        case gap
    }

    /// The notifications, in order. At most `bufferSize` wait to be read; then the oldest are dropped and a ``Event/gap`` follows.
    public let events: AsyncStream<Event>
    private let continuation: AsyncStream<Event>.Continuation
    private let configuration: PostgresConfiguration
    private let channels: [String]
    private let loop: EventLoop
    private let logger: Logger

    public init(
        configuration: PostgresConfiguration, channels: [String], on loop: EventLoop, bufferSize: Int = 1024,
        logger: Logger = Logger(label: "postgres.listener")
    ) {
        self.configuration = configuration
        self.channels = channels
        self.loop = loop
        self.logger = logger
        (events, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(max(bufferSize, 2)))
    }

    /// Listens until graceful shutdown or cancellation, reconnecting; then `events` ends.
    public func run() async throws {
        defer { continuation.finish() }
        try await cancelWhenGracefulShutdown { await self.listen() }
    }

    private func listen() async {
        var backoff = RetryBackoff(.reconnecting)
        let report = FailureReport("postgres-listener", logger: logger)
        while !Task.isCancelled {
            let connection = PostgresConnection(configuration: configuration, on: loop, logger: logger)
            do {
                try await withTaskCancellationHandler {
                    try await connection.connect(mode: .listening)
                    try await connection.listen(to: channels)
                    backoff.reset()
                    report.succeeded("notifications of Postgres are heard again")
                    continuation.yield(.gap)
                    while true {
                        for notification in try await connection.nextNotifications() { deliver(notification) }
                    }
                } onCancel: {
                    connection.loop.execute { connection.assumeIsolated { $0.close() } }
                }
            } catch {
                await connection.close()
                if Task.isCancelled { return }
                report.failed("notifications of Postgres aren't heard now", error)
            }
            // If the task was cancelled, the loop's condition ends the loop.
            try? await Task.sleep(for: backoff.next())
        }
    }

    private func deliver(_ notification: PostgresNotification) {
        if case .dropped = continuation.yield(.notification(notification)) { continuation.yield(.gap) }
    }
}
