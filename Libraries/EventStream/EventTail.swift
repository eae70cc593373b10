public import EventLoop
import EventTopics
import Kafka
import Lifecycle
import Logging

/// Follows a whole topic from its end on, in every instance of a service: this is how gateways read changes.
///
/// It commits no offsets: after a restart it begins at the end again, and its user reads what it missed from Postgres. Messages are
/// passed on undecoded, since most of them concern no client of the instance: check the key, and decode only what is needed.
public final class EventTail<Payload: EventPayload>: Service {
    private let reader: TopicReader
    private let loop: EventLoop?
    private let positioned = Milestone()
    private let onPositioned: @Sendable ([Int64]) -> Void
    private let handle: @Sendable ([RawEvent<Payload>]) async throws -> Void

    /// Creates the tail; ``run()`` starts it.
    /// - Parameters:
    ///   - kafka: a client through which nothing else reads this topic.
    ///   - loop: where `handle` runs; `nil` for Swift's default executor.
    ///   - onPositioned: called with the offset from which it reads each partition of the topic, when they are fixed.
    ///   - handle: receives the messages, in order per key; reading continues when it returns. Throwing ends the tail.
    public init(
        pool: String, kafka: KafkaClient, on loop: EventLoop? = nil, logger: Logger? = nil,
        onPositioned: @escaping @Sendable ([Int64]) -> Void = { _ in },
        handle: @escaping @Sendable ([RawEvent<Payload>]) async throws -> Void
    ) {
        var logger = logger ?? Logger(label: "event-stream")
        logger[metadataKey: "kafka.topic"] = "\(Payload.topic.fullName(pool: pool))"
        self.onPositioned = onPositioned
        self.handle = handle
        self.loop = loop
        reader = TopicReader(Payload.topic.contract, pool: pool, from: .end, through: kafka, logger: logger)
    }

    /// Returns when the position from which it reads is fixed: everything that the brokers store afterwards will be handled.
    /// Earlier changes can then be read from Postgres, without a gap between the two.
    /// - Throws: `CancellationError`.
    public func waitUntilPositioned() async throws { try await positioned.wait() }

    /// Reads until a graceful shutdown or cancellation; waits while the broker is unavailable.
    public func run() async throws {
        try await endingQuietly {
            let positioned: @Sendable ([KafkaTopicPartition: KafkaOffset]) async -> Void = { offsets in
                let sorted = offsets.sorted { $0.key.partition < $1.key.partition }
                self.onPositioned(
                    sorted.map {
                        guard case .offset(let offset) = $0.value else { preconditionFailure("no offset") }
                        return offset
                    })
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

/// A message of a topic that isn't decoded yet.
public struct RawEvent<Payload: EventPayload>: Sendable {
    /// The message.
    public let message: KafkaMessage

    /// Wraps a message.
    public init(_ message: KafkaMessage) { self.message = message }

    /// The key's bytes; empty when there is none.
    public var keyBytes: [UInt8] { message.key ?? [] }

    /// The key's text; bytes that are not UTF-8 become U+FFFD.
    public var key: String { String(decoding: keyBytes, as: UTF8.self) }

    /// Decodes the event.
    /// - Throws: `EventTopicsError` when the message isn't an event of the topic.
    public func decoded() throws(EventTopicsError) -> ReceivedEvent<Payload> { try ReceivedEvent(message) }
}
