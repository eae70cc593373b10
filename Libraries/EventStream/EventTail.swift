public import EventLoop
import EventTopics
import Kafka
import Lifecycle
import Logging

/// Follows a whole topic from now on, every instance all of it: the gateways' way of reading changes.
///
/// There are no committed offsets: who starts again begins at the end, and gets what it missed from Postgres. Messages come undecoded,
/// since most of them concern nobody here: look at the key, and decode what is wanted.
public final class EventTail<Payload: EventPayload>: Service {
    private let reader: TopicReader
    private let loop: EventLoop?
    private let positioned = Milestone()
    private let onPositioned: @Sendable (Int) -> Void
    private let handle: @Sendable ([RawEvent<Payload>]) async throws -> Void

    /// Describes the tail; `run` starts it.
    /// - Parameters:
    ///   - kafka: through which nobody else reads this topic.
    ///   - loop: where `handle` runs; `nil` leaves it to Swift's own threads.
    ///   - onPositioned: called when the place from which it reads is fixed, with the topic's number of partitions.
    ///   - handle: gets what came, in order per key; reading goes on when it returns. Throwing ends the tail.
    public init(
        pool: String, kafka: KafkaClient, on loop: EventLoop? = nil, logger: Logger? = nil,
        onPositioned: @escaping @Sendable (Int) -> Void = { _ in },
        handle: @escaping @Sendable ([RawEvent<Payload>]) async throws -> Void
    ) {
        var logger = logger ?? Logger(label: "event-stream")
        logger[metadataKey: "kafka.topic"] = "\(Payload.topic.fullName(pool: pool))"
        self.onPositioned = onPositioned
        self.handle = handle
        self.loop = loop
        reader = TopicReader(Payload.topic.contract, pool: pool, from: .end, through: kafka, logger: logger)
    }

    /// Whether the place from which it reads is fixed.
    public var isPositioned: Bool { positioned.isReached }

    /// Returns when the place from which it reads is fixed: everything that the brokers store afterwards will be handled. What was
    /// committed before can be read from Postgres now, and nothing falls between.
    /// - Throws: `CancellationError`.
    public func waitUntilPositioned() async throws { try await positioned.wait() }

    /// Reads until a graceful shutdown or cancellation; waits while there is no broker.
    public func run() async throws {
        try await endingQuietly {
            let positioned: @Sendable (Int) async -> Void = { count in
                self.onPositioned(count)
                self.positioned.reach()
            }
            try await withTaskExecutorPreference(self.loop?.taskExecutor) {
                try await self.reader.run(onPositioned: positioned, onCaughtUp: {}) { messages in
                    try await self.handle(messages.map { RawEvent($0) })
                }
            }
        }
    }
}

/// A message of a topic that nobody has looked into yet.
public struct RawEvent<Payload: EventPayload>: Sendable {
    /// The message.
    public let message: KafkaMessage

    /// Wraps a message.
    public init(_ message: KafkaMessage) { self.message = message }

    /// The key's bytes; empty when there is none.
    public var keyBytes: [UInt8] { message.key ?? [] }

    /// The key's text; bytes that are not UTF-8 become U+FFFD.
    public var key: String { String(decoding: keyBytes, as: UTF8.self) }

    /// Reads the event.
    /// - Throws: `EventTopicsError` when it is none of the topic's.
    public func decoded() throws(EventTopicsError) -> ReceivedEvent<Payload> { try ReceivedEvent(message) }
}
