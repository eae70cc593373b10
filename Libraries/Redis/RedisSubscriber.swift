public import EventLoop
public import Lifecycle
public import Logging

/// A message that was published on a channel.
public struct RedisMessage: Sendable, Hashable {
    public var channel: String
    /// The pattern that matched the channel; `nil` for a subscription to the channel itself.
    public var pattern: String?
    public var payload: [UInt8]

    public init(channel: String, pattern: String? = nil, payload: [UInt8]) {
        self.channel = channel
        self.pattern = pattern
        self.payload = payload
    }
}

/// Subscribes to channels on a connection of its own.
public final class RedisSubscriber: Service {
    /// An event for the reader of the channels.
    public enum Event: Sendable, Hashable {
        case message(RedisMessage)
        /// The subscription has started or was restarted, or the buffer overflowed: messages before this may be missing.
        case gap
    }

    /// The messages, in order. At most `bufferSize` wait to be read; then the oldest are dropped and a ``Event/gap`` follows.
    public let events: AsyncStream<Event>
    private let continuation: AsyncStream<Event>.Continuation
    private let configuration: RedisConfiguration
    private let channels: [String]
    private let patterns: [String]
    private let loop: EventLoop
    private let logger: Logger

    public init(
        configuration: RedisConfiguration, channels: [String] = [], patterns: [String] = [], on loop: EventLoop,
        bufferSize: Int = 1024, logger: Logger = Logger(label: "redis.subscriber")
    ) {
        self.configuration = configuration
        self.channels = channels
        self.patterns = patterns
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
        while !Task.isCancelled {
            let connection = RedisConnection(configuration: configuration, on: loop)
            do {
                try await connection.connect()
                backoff.reset()
                let continuation = self.continuation
                try await connection.subscribe(channels: channels, patterns: patterns) {
                    continuation.yield(.gap)
                } onMessage: { message in
                    if case .dropped = continuation.yield(.message(message)) { continuation.yield(.gap) }
                }
                try await withTaskCancellationHandler {
                    try await connection.waitUntilClosed()
                } onCancel: {
                    connection.loop.execute { connection.assumeIsolated { $0.close() } }
                }
            } catch {
                await connection.close()
                if Task.isCancelled { return }
                logger.debug("redis subscriber failed", metadata: ["error": "\(error)"])
            }
            // If the task was cancelled, the loop's condition ends the loop.
            try? await Task.sleep(for: backoff.next())
        }
    }
}
