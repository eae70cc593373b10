import EventTopics
import Kafka

/// An event as a consumer gets it.
public struct ReceivedEvent<Payload: EventPayload>: Sendable {
    /// What it says.
    public var payload: Payload
    /// Its CloudEvents attributes.
    public var attributes: EventAttributes
    /// The message's key.
    public var key: String
    /// Where it was read; `nil` for one that a gap sweep read from Postgres.
    public var position: Position?

    /// A place in a topic.
    public struct Position: Hashable, Sendable {
        /// The partition of the topic.
        public var partition: Int32
        /// The offset in it.
        public var offset: Int64
    }

    /// An event that no broker brought, as repairs and tests make it.
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

/// An event that is put aside.
public struct DeadLetter<Payload: EventPayload>: Sendable {
    /// The event; `nil` when it could not be decoded.
    public let event: ReceivedEvent<Payload>?
    /// The message that could not be decoded.
    public let message: KafkaMessage?
    /// Why it is put aside: what the handler threw last, or an `EventTopicsError`.
    public let error: any Error
    /// How often it was tried; 0 for one that could not be decoded.
    public let attempts: Int
}

/// What becomes of an event whose handling failed.
public enum FailureDecision: Sendable {
    /// It is tried again after a while that grows with the attempts; the lane's later events wait, other lanes don't.
    case retry
    /// As ``retry``, where nothing is wrong: what the event needs may be on its way.
    case wait
    /// It has no effect any more, and counts as handled.
    case skip
    /// It goes to `deadLetter`, and the lane goes on.
    case deadLetter
    /// The consumer ends with the error; nothing is lost, and after a restart it begins with this event.
    case stop
}

/// What a service does with the events of a topic.
public protocol EventHandler<Payload>: Sendable {
    associatedtype Payload: EventPayload

    /// Events with the same lane are handled one batch after the other, in their order; others at the same time. By default
    /// the message's key.
    func lane(of event: ReceivedEvent<Payload>) -> String

    /// Whose share of the consumer's concurrency the event takes, always the same one for a lane: that of an app whose code may
    /// hang. By default lanes share nothing.
    func share(of event: ReceivedEvent<Payload>) -> String

    /// Whose part of the share it takes, always the same one for a lane: that of a user whose thousand events mustn't hold up another
    /// user's one. By default nobody's: the share's lanes run in the order in which they come.
    func member(of event: ReceivedEvent<Payload>) -> String?

    /// Which messages of a batch, in their order, have no effect, as far as their keys and headers say: they count as handled, and
    /// nobody decodes them. Empty for none, which is the default.
    func skipped(_ messages: [KafkaMessage]) async -> [Bool]

    /// Handles events of one lane: all of them or, throwing, none. Has to bear an event twice: claim it (`HandledEvents`) in the
    /// transaction of its effect.
    ///
    /// When a batch of several fails, its events come again one by one, so that only the one at fault stays behind.
    func handle(_ events: [ReceivedEvent<Payload>]) async throws

    /// What to do about an event that failed alone. By default: try again as long as an engine is away, otherwise put it aside
    /// after five attempts.
    func decide(_ error: any Error, on event: ReceivedEvent<Payload>, attempts: Int) async -> FailureDecision

    /// Puts an event aside, durably; it counts as handled then. When this throws, it is called again after a while.
    func deadLetter(_ letter: DeadLetter<Payload>) async throws
}

extension EventHandler {
    public func lane(of event: ReceivedEvent<Payload>) -> String { event.key }

    public func share(of event: ReceivedEvent<Payload>) -> String { lane(of: event) }

    public func member(of event: ReceivedEvent<Payload>) -> String? { nil }

    public func skipped(_ messages: [KafkaMessage]) async -> [Bool] { [] }

    public func decide(_ error: any Error, on event: ReceivedEvent<Payload>, attempts: Int) async -> FailureDecision {
        TransientErrors.contains(error) || attempts < 5 ? .retry : .deadLetter
    }
}
