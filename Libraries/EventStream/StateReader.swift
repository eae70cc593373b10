import EventLoop
import EventTopics
import Kafka
import Lifecycle
import Logging

/// Keeps a compacted topic's state up to date in a process: reads the topic from its beginning, reports when it has read everything
/// that the topic held at that time, and continues with new messages.
///
/// It belongs to no group: every instance of a service has the whole state. Events that can't be decoded are skipped and logged:
/// one writer's mistake must not prevent all readers from reading the rest.
public final class StateReader<Payload: EventPayload>: Service {
    /// A change of a key's state.
    public enum Change: Sendable {
        /// The key has this state now.
        case set(ReceivedEvent<Payload>)
        /// The key was removed.
        case removed(key: String)
    }

    private let reader: TopicReader
    private let logger: Logger
    private let caughtUp = Milestone()
    private let apply: @Sendable ([Change]) async throws -> Void

    /// Creates the reader; ``run()`` starts it.
    /// - Parameters:
    ///   - kafka: a client through which nothing else reads this topic.
    ///   - apply: receives the changes, in order per key; throwing ends the reader.
    public init(
        pool: String, kafka: KafkaClient, logger: Logger? = nil,
        apply: @escaping @Sendable ([Change]) async throws -> Void
    ) {
        var logger = logger ?? Logger(label: "event-stream")
        logger[metadataKey: "kafka.topic"] = "\(Payload.topic.fullName(pool: pool))"
        self.logger = logger
        self.apply = apply
        reader = TopicReader(Payload.topic.contract, pool: pool, from: .beginning, through: kafka, logger: logger)
    }

    /// Whether everything that the topic held when the reader began has been read.
    public var isCaughtUp: Bool { caughtUp.isReached }

    /// Returns when everything that the topic held when the reader began has been read.
    /// - Throws: `CancellationError`.
    public func waitUntilCaughtUp() async throws { try await caughtUp.wait() }

    /// Reads until a graceful shutdown or cancellation; waits while the broker is unavailable.
    public func run() async throws {
        try await endingQuietly {
            try await self.reader.run(onPositioned: { _ in }, onCaughtUp: { self.caughtUp.reach() }) { messages in
                let changes = messages.compactMap(self.change)
                if !changes.isEmpty { try await self.apply(changes) }
            }
        }
    }

    private func change(_ message: KafkaMessage) -> Change? {
        if message.value == nil, let key = message.key.flatMap({ String(validating: $0, as: UTF8.self) }) {
            return .removed(key: key)
        }
        do {
            return .set(try ReceivedEvent<Payload>(message))
        } catch {
            logger.error(
                "a message isn't an event of its topic",
                metadata: [
                    "kafka.partition": "\(message.partition)", "kafka.offset": "\(message.offset)", "error": "\(error)",
                ])
            return nil
        }
    }
}

/// Runs `body` until it ends, or until a graceful shutdown or cancellation, neither of which is thrown as an error.
func endingQuietly(_ body: @escaping @Sendable () async throws -> Void) async throws {
    do {
        try await cancelWhenGracefulShutdown(body)
    } catch is CancellationError {
        // A shutdown or cancellation was requested.
    }
}
