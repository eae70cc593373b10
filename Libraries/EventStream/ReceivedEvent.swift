import EventTopics
import Kafka

/// An event that a consumer receives.
public struct ReceivedEvent<Payload: EventPayload>: Sendable {
    /// The decoded payload.
    public var payload: Payload
    /// Its CloudEvents attributes.
    public var attributes: EventAttributes
    /// The message's key.
    public var key: String
    /// Its position in the topic; `nil` for an event that was read from Postgres.
    public var position: Position?

    /// A message's position in a topic.
    public struct Position: Hashable, Sendable {
        /// The partition of the topic.
        public var partition: Int32
        /// The offset in it.
        public var offset: Int64
    }

    /// Creates an event that was not received from the broker, for repairs and tests.
    public init(_ payload: Payload, position: Position? = nil) {
        self.payload = payload
        attributes = EventAttributes(
            id: payload.eventID, source: EventEnvelope.source(of: payload), type: payload.type,
            subject: payload.subject,
            time: payload.time)
        key = payload.key
        self.position = position
    }

    /// Decodes a message.
    /// - Throws: `EventTopicsError` when it has no key or no value, and when it isn't an event of the topic.
    public init(_ message: KafkaMessage) throws(EventTopicsError) {
        guard let key = message.key.flatMap({ String(validating: $0, as: UTF8.self) }) else {
            throw EventTopicsError(.missingField, "the message has no key")
        }
        guard let value = message.value else { throw EventTopicsError(.notADocument, "the message has no value") }
        attributes = try EventEnvelope.attributes { message.headers[$0] }
        payload = try EventEnvelope.decode(Payload.self, value: value, attributes: attributes)
        self.key = key
        position = Position(partition: message.partition, offset: message.offset)
    }
}

/// An event that is dead-lettered: handling it has failed permanently, or its message could not be decoded.
public struct DeadLetter<Payload: EventPayload>: Sendable {
    /// The event; `nil` when it could not be decoded.
    public let event: ReceivedEvent<Payload>?
    /// The message that could not be decoded; `nil` when it could.
    public let message: KafkaMessage?
    /// Why it is dead-lettered: the last error that the handler threw, or an `EventTopicsError`.
    public let error: any Error
    /// The number of attempts at handling it; 0 for one that could not be decoded.
    public let attempts: Int
}

/// What the consumer does with an event whose handling failed.
public enum FailureDecision: Sendable {
    /// It is tried again after a delay that grows with the attempts; the lane's later events wait, other lanes don't.
    case retry
    /// As ``retry``, but nothing is logged or counted as a failure: something that the event depends on may still arrive.
    case wait
    /// It no longer has an effect, and counts as handled.
    case skip
    /// It is passed to `deadLetter`, and the lane continues.
    case deadLetter
    /// The consumer ends with the error; nothing is lost, and after a restart it begins with this event.
    case stop
}

/// What a service does with the events of a topic.
public protocol EventHandler<Payload>: Sendable {
    associatedtype Payload: EventPayload

    /// Returns the event's lane. Events of the same lane are handled one batch after the other, in their order; different lanes are
    /// handled concurrently. By default, the lane is the message's key.
    func lane(of event: ReceivedEvent<Payload>) -> String

    /// Returns the share of the consumer's concurrency that the event uses, for example that of an app whose code may hang. It must
    /// always be the same for a lane. By default, each lane has a share of its own.
    func share(of event: ReceivedEvent<Payload>) -> String

    /// Returns the member within the share, for example a user whose thousand events must not delay another user's single one. It must
    /// always be the same for a lane. By default `nil`: the share's lanes run in the order in which they become ready.
    func member(of event: ReceivedEvent<Payload>) -> String?

    /// Returns for each message of a batch, in order, whether its key and headers show that it has no effect: it is then not decoded,
    /// and counts as handled. An empty array, the default, skips none.
    func skipped(_ messages: [KafkaMessage]) async -> [Bool]

    /// Called when Kafka partitions of the topic come or go, before events of new ones are handled: whether this member now has all of
    /// them. By default, it does nothing.
    func assigned(isAll: Bool) async

    /// Handles events of one lane: all of them or, when it throws, none. An event may be delivered twice: claim it (`HandledEvents`) in
    /// the transaction of its effect.
    ///
    /// When a batch of several events fails, they are delivered again one by one, so that only the failing one is held back.
    func handle(_ events: [ReceivedEvent<Payload>]) async throws

    /// Decides what to do with an event that failed on its own. By default, transient errors (``TransientErrors``) are retried without
    /// a limit, and the event is dead-lettered at the fifth attempt that fails otherwise.
    func decide(_ error: any Error, on event: ReceivedEvent<Payload>, attempts: Int) async -> FailureDecision

    /// Stores a dead-lettered event durably; the event then counts as handled. When this throws, it is called again after a delay.
    func deadLetter(_ letter: DeadLetter<Payload>) async throws
}

extension EventHandler {
    public func lane(of event: ReceivedEvent<Payload>) -> String { event.key }

    public func share(of event: ReceivedEvent<Payload>) -> String { lane(of: event) }

    public func member(of event: ReceivedEvent<Payload>) -> String? { nil }

    public func skipped(_ messages: [KafkaMessage]) async -> [Bool] { [] }

    public func assigned(isAll: Bool) async {}

    public func decide(_ error: any Error, on event: ReceivedEvent<Payload>, attempts: Int) async -> FailureDecision {
        TransientErrors.contains(error) || attempts < 5 ? .retry : .deadLetter
    }
}
