import EventTopics
import Kafka
import Lifecycle
import Logging

/// Keeps a compacted topic's state up to date in a process: reads the topic from its beginning, says when it has all that was there,
/// and goes on with what comes.
///
/// It belongs to no group: every instance of a service has the whole state. Events that can't be decoded are passed over and logged:
/// one writer's mistake must not keep the rest from everybody.
public final class StateReader<Payload: EventPayload>: Service {
    /// What happened to a key.
    public enum Change: Sendable {
        /// It has this state now.
        case set(ReceivedEvent<Payload>)
        /// It has none any more.
        case removed(key: String)
    }

    private let reader: TopicReader
    private let logger: Logger
    private let caughtUp = Milestone()
    private let apply: @Sendable ([Change]) async throws -> Void

    /// Describes the reader; `run` starts it.
    /// - Parameters:
    ///   - kafka: through which nobody else reads this topic.
    ///   - apply: gets the changes as they come, in order per key; throwing ends the reader.
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

    /// Whether everything was read that was there when the reader began.
    public var isCaughtUp: Bool { caughtUp.isReached }

    /// Returns when everything was read that was there when the reader began.
    /// - Throws: `CancellationError`.
    public func waitUntilCaughtUp() async throws { try await caughtUp.wait() }

    /// Reads until a graceful shutdown or cancellation; waits while there is no broker.
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
                "a message is no event of its topic",
                metadata: [
                    "kafka.partition": "\(message.partition)", "kafka.offset": "\(message.offset)", "error": "\(error)",
                ])
            return nil
        }
    }
}

/// Runs until a graceful shutdown or cancellation, which are no errors.
func endingQuietly(_ body: @escaping @Sendable () async throws -> Void) async throws {
    do {
        try await cancelWhenGracefulShutdown(body)
    } catch is CancellationError {
        // What was asked for.
    }
}
